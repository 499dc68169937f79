"""Calls of every operator that the table has a row for: (operator, arguments, keyword arguments)."""

import torch

ATEN, PRIMS = torch.ops.aten, torch.ops.prims
_generator = torch.Generator().manual_seed(0)


def real(*shape, low=-2.0, high=2.0):
    return torch.rand(shape, generator=_generator) * (high - low) + low


def whole(*shape, low=-5, high=6):
    return torch.randint(low, high, shape, generator=_generator)


def truth(*shape):
    return whole(*shape) > 0


CASES = []
FILLED_BY_NOTHING = []  # empty tensors: of these the shape and type only
RAGGED = []  # products of groups of rows
RANDOM = []  # with (least, most, mean) of what is drawn


def case(operator, *args, **kwargs):
    CASES.append((operator, args, kwargs))


A, B, ROW, COLUMN = real(3, 4), real(3, 4), real(4), real(3, 1)
I, J = whole(3, 4), whole(3, 4, low=1, high=4)
T, U = truth(3, 4), truth(3, 4)

# Of one element of each operand.

ANYWHERE = (
    *("abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc"),
    *("erfinv", "exp", "expm1", "floor", "isinf", "isnan", "log1p", "neg", "relu", "round"),
    *("sgn", "sigmoid", "sign", "sin", "sinh", "tan", "tanh", "trunc"),
)
for name in ANYWHERE:
    case(getattr(ATEN, name).default, real(3, 4, low=-0.9, high=0.9))
for name in ("digamma", "lgamma", "log", "reciprocal", "rsqrt", "sqrt"):
    case(getattr(ATEN, name).default, real(3, 4, low=0.1))
case(ATEN.acosh.default, real(3, 4, low=1.1, high=3.0))
case(ATEN.exp.default, I)  # whole numbers give floats
case(ATEN.round.default, torch.tensor([0.5, 1.5, 2.5, -0.5]))
case(ATEN.trunc.default, torch.tensor([1.7, -1.7, 0.2]))
special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
case(ATEN.isnan.default, special)
case(ATEN.isinf.default, special)
case(ATEN.bitwise_not.default, I)
case(ATEN.bitwise_not.default, T)
case(ATEN.logical_not.default, I)
case(ATEN.logical_not.default, A)
for name in ("add", "sub", "rsub"):
    case(getattr(ATEN, name).Tensor, A, ROW, alpha=2)
    case(getattr(ATEN, name).Scalar, I, 3)
    case(getattr(ATEN, name).Tensor, I, A)
for name in ("mul", "fmod", "div", "remainder"):
    other = J if name in ("fmod", "remainder") else ROW + 3
    case(getattr(ATEN, name).Tensor, A, other)
    case(getattr(ATEN, name).Scalar, A, 1.5)
for name in ("fmod", "remainder", "floor_divide"):
    overload = "default" if name == "floor_divide" else "Tensor"
    case(getattr(getattr(ATEN, name), overload), I, -J)
case(ATEN.remainder.Scalar_Tensor, 7, -J)
case(ATEN.floor_divide.Scalar, I, 2)
for mode in ("floor", "trunc", None):
    case(ATEN.div.Tensor_mode, A, B, rounding_mode=mode)
    case(ATEN.div.Tensor_mode, I, -J, rounding_mode=mode)
    case(ATEN.div.Scalar_mode, A, 0.7, rounding_mode=mode)
case(ATEN.pow.Tensor_Tensor, real(3, 4, low=0.1), B)
case(ATEN.pow.Tensor_Scalar, A, 3)
case(ATEN.pow.Scalar, 2.0, A)
case(ATEN.atan2.default, A, B)
case(ATEN.maximum.default, A, ROW)
case(ATEN.minimum.default, I, J)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    case(getattr(ATEN, name).Tensor, I, J)
    case(getattr(ATEN, name).Tensor, T, U)
    case(getattr(ATEN, name).Scalar, I, 3)
    case(getattr(ATEN, name).Scalar_Tensor, 3, I)
for name in ("logical_and", "logical_or", "logical_xor"):
    case(getattr(ATEN, name).default, T, U)
    case(getattr(ATEN, name).default, I, A)
for name in ("eq", "ge", "gt", "le", "lt", "ne"):
    case(getattr(ATEN, name).Tensor, I, J)
    case(getattr(ATEN, name).Tensor, I, A)
    case(getattr(ATEN, name).Scalar, I, 0.5)
    case(getattr(ATEN, name).Scalar, T, True)
case(ATEN.where.self, T, A, ROW)
case(ATEN.where.ScalarOther, T, A, 1.0)
case(ATEN.where.ScalarSelf, T, 1.0, A)
case(ATEN.where.Scalar, T, 1.0, 2.0)
case(ATEN.masked_fill.Scalar, A, T, -1.0)
case(ATEN.masked_fill.Tensor, A, T, torch.tensor(2.0))
case(ATEN.clamp.default, A, -0.5, 0.5)
case(ATEN.clamp.default, I, None, 2)
case(ATEN.clamp.Tensor, A, ROW, None)
case(ATEN.clamp_min.default, A, 0.1)
case(ATEN.clamp_min.Tensor, A, ROW)
case(ATEN.clamp_max.default, A, 0.1)
case(ATEN.clamp_max.Tensor, A, ROW)
case(ATEN.hardtanh.default, A)
for dtype in (torch.int64, torch.bool, torch.float64):
    case(ATEN._to_copy.default, A, dtype=dtype)
for name in ("clone", "alias", "detach", "lift_fresh_copy", "lift_fresh", "lift", "contiguous"):
    case(getattr(ATEN, name).default, A)
case(ATEN.copy.default, A, ROW)
case(PRIMS.convert_element_type.default, A, torch.int32)

# Made anew.

for name in ("zeros", "ones"):
    case(getattr(ATEN, name).default, [2, 3], dtype=torch.int32)
for name in ("zeros_like", "ones_like"):
    case(getattr(ATEN, name).default, A)
for name in ("new_zeros", "new_ones"):
    case(getattr(ATEN, name).default, I, [2])
case(ATEN.full.default, [2, 3], 1.5)
case(ATEN.full_like.default, A, 2)
case(ATEN.fill.Scalar, A, 2)
case(ATEN.fill.Tensor, A, torch.tensor(2.0))
case(ATEN.new_full.default, A, [2], 7)
case(ATEN.scalar_tensor.default, 2.5)
case(ATEN.arange.default, 5)
case(ATEN.arange.start, 2, 5)
case(ATEN.arange.start_step, 1, 10, 3)
case(PRIMS.iota.default, 5, start=2, step=3, dtype=torch.int64, device="cpu", requires_grad=False)
FILLED_BY_NOTHING += [
    (ATEN.empty.memory_format, ([2, 3],), {}),
    (ATEN.empty_like.default, (A,), {}),
    (ATEN.new_empty.default, (A, [2]), {}),
    (ATEN.empty_permuted.default, ([2, 3], [1, 0]), {}),
    (ATEN.empty_strided.default, ([2, 3], [3, 1]), {}),
    (ATEN.new_empty_strided.default, (A, [2, 3], [3, 1]), {}),
]
LARGE = torch.zeros(100, 100)
for name in ("rand", "randn"):
    drawn = (0, 1, 0.5) if name == "rand" else (-7, 7, 0)
    RANDOM.append((getattr(ATEN, name).default, ([100, 100],), {}, drawn))
    RANDOM.append((getattr(ATEN, name).generator, ([100, 100],), {"generator": None}, drawn))
    like = getattr(ATEN, f"{name}_like")
    RANDOM.append((like.default, (LARGE,), {}, drawn))
    RANDOM.append((like.generator, (LARGE,), {"generator": None}, drawn))
RANDOM.append((ATEN.uniform.default, (LARGE, -1.0, 3.0), {}, (-1, 3, 1)))
RANDOM.append((ATEN.bernoulli.p, (LARGE, 0.25), {}, (0, 1, 0.25)))

# Moved as they are.

C = real(2, 3, 4)
for name in ("view", "_unsafe_view", "reshape"):
    case(getattr(ATEN, name).default, C, [6, 4])
case(ATEN._reshape_alias.default, C, [6, 4], [4, 1])
case(ATEN.view_as.default, C, real(6, 4))
case(ATEN.flatten.using_ints, C, 1)
case(ATEN.unflatten.int, C, 2, [2, 2])
case(ATEN.as_strided.default, C, [6, 4], [4, 1])
D = real(1, 3, 1)
case(ATEN.squeeze.default, D)
case(ATEN.squeeze.dim, D, 0)
case(ATEN.squeeze.dims, D, [0, 2])
case(ATEN.unsqueeze.default, A, 1)
case(ATEN.expand.default, COLUMN, [2, -1, 4])
case(ATEN.expand_copy.default, COLUMN, [3, 4])
case(ATEN.permute.default, C, [2, 0, -2])
case(ATEN.transpose.int, C, 0, -1)
case(ATEN.t.default, A)
case(ATEN.t.default, ROW)
case(ATEN.slice.Tensor, C, 2, 1, -1, 2)
case(ATEN.select.int, C, 1, -1)
case(ATEN.split.Tensor, C, 3, 2)
case(ATEN.split.sizes, C, [1, 3], 2)
case(ATEN.split.default, C, [1, 3], 2)
case(ATEN.split_with_sizes.default, C, [1, 3], 2)
case(ATEN.chunk.default, C, 2, 2)
case(ATEN.unbind.int, C, 1)
case(ATEN.cat.default, [A, COLUMN, I], 1)
case(ATEN.stack.default, [A, B], -1)
case(ATEN.slice_backward.default, real(2, 3, 2), [2, 3, 5], 2, 1, 5, 2)
case(ATEN.slice_scatter.default, C, real(2, 3, 2), 2, 1, 3)
case(ATEN.slice_scatter.default, C, real(2, 3, 2), -1, 1, None, 2)
case(ATEN.select_backward.default, A, [3, 5, 4], 1, -2)
case(ATEN.constant_pad_nd.default, A, [1, 2, -1, 3], 0.5)
case(ATEN.flip.default, C, [0, -1])
case(PRIMS.broadcast_in_dim.default, ROW, [3, 4, 2], [1])

# Reduced.

case(ATEN.sum.default, I)
case(ATEN.sum.dim_IntList, C, [0, -1], True)
case(ATEN.sum.dim_IntList, C, None, dtype=torch.float64)
case(ATEN.sum.dim_IntList, T, [1])
case(ATEN.mean.default, C)
case(ATEN.mean.dim, C, [1], True)
case(ATEN.var.correction, C, [1], correction=0)
case(ATEN.var.dim, C, [1, 2], True, True)
case(ATEN.var_mean.correction, C, [0, 2], correction=1, keepdim=True)
case(ATEN.prod.default, A)
case(ATEN.prod.dim_int, A, 1)
for name in ("amax", "amin"):
    case(getattr(ATEN, name).default, C, [0, 2], True)
    case(getattr(ATEN, name).default, I, [])
for name in ("max", "min"):
    case(getattr(ATEN, name).default, A)
    case(getattr(ATEN, name).dim, A, 1, True)
    case(getattr(ATEN, name).dim, torch.tensor([[1, 3, 3], [2, 2, 0]]), 1)
for name in ("argmax", "argmin"):
    case(getattr(ATEN, name).default, A, 1)
    case(getattr(ATEN, name).default, A)
for name in ("any", "all"):
    case(getattr(ATEN, name).default, I)
    case(getattr(ATEN, name).dim, T, 1, True)
    case(getattr(ATEN, name).dims, T, [0, 1])
case(ATEN.cumsum.default, C, 1)
case(ATEN.cumsum.default, I, -1)
case(ATEN.topk.default, torch.randperm(12, generator=_generator).view(3, 4).float(), 2)

REPEATED = torch.tensor([[3, 1, 2, 1], [0, 0, 5, -1]])
case(ATEN.sort.stable, REPEATED, stable=True)
case(ATEN.sort.stable, REPEATED, stable=True, dim=0, descending=True)
case(ATEN.sort.default, torch.randperm(12, generator=_generator).view(3, 4).float(), 1)
case(ATEN.histc.default, real(30), 5, -1, 1)
case(ATEN.histc.default, whole(20, low=0, high=4).float(), 4, 0, 3)

# Products.

case(ATEN.mm.default, A, real(4, 5))
case(ATEN.mv.default, A, ROW)
case(ATEN.dot.default, ROW, real(4))
case(ATEN.bmm.default, C, real(2, 4, 5))
ENDS = torch.tensor([3, 3, 8], dtype=torch.int32)  # one group is empty
for pair in (
    (real(8, 16), real(3, 16, 8)),
    (real(16, 8), real(8, 16)),
    (real(3, 16, 8), real(8, 8)),
):
    RAGGED.append((ATEN._grouped_mm.default, (*pair, ENDS), {}))
case(ATEN._grouped_mm.default, real(2, 8, 16), real(2, 16, 8))
case(ATEN.addmm.default, real(5), A, real(4, 5), beta=0.5, alpha=2)

# At indices.

N, TWO = whole(2, 3, low=0, high=7), whole(2, low=0, high=3)
case(ATEN.embedding.default, real(7, 4), N)
case(ATEN.embedding_dense_backward.default, real(2, 3, 4), N, 7, -1, False)
case(ATEN.embedding_dense_backward.default, real(2, 3, 4), N, 7, 2, False)
case(ATEN.index_select.default, C, 1, torch.tensor([2, 0]))
for name in ("index", "_unsafe_index"):
    case(getattr(ATEN, name).Tensor, C, [None, torch.tensor([0, -1])])
    case(getattr(ATEN, name).Tensor, C, [TWO % 2, None, torch.tensor([[0], [3]])])
for name in ("index_put", "_unsafe_index_put"):
    put = getattr(ATEN, name).default
    case(put, C, [None, torch.tensor([0, 2])], real(2, 2, 4))
    case(put, C, [torch.tensor([1, 1]), torch.tensor([2, 2])], real(2, 4), True)
    case(put, C, [torch.tensor([0]), None, torch.tensor([3])], torch.tensor(5.0))
case(ATEN.gather.default, A, 1, whole(3, 2, low=0, high=4))
case(ATEN.gather.default, A, 0, whole(2, 3, low=0, high=3))
PLACES = torch.stack([torch.randperm(4, generator=_generator)[:2] for _ in range(3)])
case(ATEN.scatter.src, A, 1, PLACES, real(3, 2))
case(ATEN.scatter.value, A, 1, PLACES, 2.0)
case(ATEN.scatter_add.default, A, 1, whole(3, 2, low=0, high=4), real(3, 2))

# Over windows.

IMAGES, KERNEL = real(2, 4, 7, 6), real(6, 4, 3, 2)
PLAIN = ([2, 1], [1, 0], [1, 2], False, [0, 0], 1)
GROUPS = ([1, 2], [1, 1], [1, 1], False, [0, 0], 2)
OTHER_WAY = ([2, 2], [1, 0], [1, 1], True, [1, 0], 1)
OTHER_GROUPS = ([2, 1], [0, 1], [1, 1], True, [0, 0], 2)
for kernel, how in (
    (KERNEL, PLAIN),
    (real(6, 2, 3, 2), GROUPS),
    (real(4, 6, 3, 2), OTHER_WAY),
    (real(4, 3, 3, 2), OTHER_GROUPS),
):
    features = kernel.shape[1] * how[5] if how[3] else kernel.shape[0]
    case(ATEN.convolution.default, IMAGES, kernel, real(features), *how)
    grad = real(*ATEN.convolution.default(IMAGES, kernel, None, *how).shape)
    wanted = [True, True, True]
    case(ATEN.convolution_backward.default, grad, IMAGES, kernel, [features], *how, wanted)
case(ATEN.convolution.default, real(2, 4, 9), real(6, 4, 3), None, [2], [1], [1], False, [0], 1)
for how in ([[3, 2], [2, 1], [1, 0]], [2, [], 0]):
    case(ATEN.max_pool2d_with_indices.default, IMAGES, *how)
    pooled, places = ATEN.max_pool2d_with_indices.default(IMAGES, *how)
    grad = real(*pooled.shape)
    more = (*how, [1, 1], False, places)
    case(ATEN.max_pool2d_with_indices_backward.default, grad, IMAGES, *more)
    case(ATEN.avg_pool2d.default, IMAGES, *how)
    case(ATEN.avg_pool2d_backward.default, grad, IMAGES, *how, False, True, None)
case(ATEN.avg_pool2d.default, IMAGES, [2, 3], [1, 2], 0, False, False, 5)
