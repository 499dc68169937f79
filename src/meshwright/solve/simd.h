#ifndef MESHWRIGHT_SOLVE_SIMD_H_
#define MESHWRIGHT_SOLVE_SIMD_H_

// Marks a function that is built once per instruction set, the best being chosen when the program
// starts: SSE2, which every x86-64 has, knows no 64-bit minimum. Sanitizers instrument the chooser,
// which runs before they do.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MW_SIMD __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MW_SIMD
#endif

#endif  // MESHWRIGHT_SOLVE_SIMD_H_
