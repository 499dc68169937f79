#!/usr/bin/env bash
# Runs pipeline.py in several processes: in a Slurm job one for each task, which `srun` starts; else two
# here, of two host devices each. Further arguments are pipeline.py's.
#
#   sbatch --nodes 2 --ntasks-per-node 8 --gpus-per-node 8 examples/pipeline_hosts.sh  # a task for each GPU
#   examples/pipeline_hosts.sh --steps 2
#
# On machines by hand, with the address of the first one in both:
#
#   python examples/pipeline.py --coordinator first:8476 --processes 2 --process 0    # on the first
#   python examples/pipeline.py --coordinator first:8476 --processes 2 --process 1    # on the second
set -euo pipefail
python=${PYTHON:-python3}
if [[ -n ${SLURM_JOB_ID:-} && -n ${SLURM_NTASKS:-} ]]; then
  script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p' | cut -d' ' -f1)
  # JAX reads from Slurm's variables which task this is and where the first one runs; a task has one GPU.
  exec srun "$python" "$(dirname "$script")/pipeline.py" --processes "$SLURM_NTASKS" "$@"
fi
script=$(dirname "$0")/pipeline.py
port=${PORT:-8476}
together=(--host-devices 2 --coordinator "localhost:$port" --processes 2)
"$python" "$script" "${together[@]}" --process 1 "$@" > /dev/null &
other=$!
"$python" "$script" "${together[@]}" --process 0 "$@"
wait "$other"
