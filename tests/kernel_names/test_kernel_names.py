"""Kernel names taken apart: the whole name is covered, and nothing is claimed that a launch contradicts."""

from __future__ import annotations

import doctest
import math
import re
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.kernel_names import SEPARATORS, KernelName, Part, decode, is_communication, is_gemm, sources
from kinetoscope.trace import Event, Kind, load

OURS = Path(__file__).parents[1] / "data" / "traces"
SECOND = Path(__file__).parents[1] / "data" / "small" / "second"
REAL = Path(__file__).parents[3] / "shared" / "corpus" / "real"
beside = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"the corpus of real traces is not beside the checkout ({REAL})"
)

NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
CUTLASS_2 = "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_32x1_tn_align8"
CUTLASS_3 = (
    "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_tnn_align8"
    "_warpspecialized_cooperative_epi_tma"
)
XMMA = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1"
    "_execute_segment_k_off_kernel__5x_cublas"
)
XMMA_CONVOLUTION = (
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1"
    "_g1_tensor16x8x16_execute_kernel__5x_cudnn"
)
AMPERE = "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn"
ADD = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
)
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
    "{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&, "
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
    "{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1} const&)::{lambda(int)#1}>(int, foo)"
)
FLASH = (
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
    "false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, "
    "false, true, false, false, false, true, false>(pytorch_flash::Flash_fwd_params)"
)
TENSILE = "Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN_ISA90a_LPA8_USFGROn1_WG64_4_1"
FMHA = "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext"
BMM = "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_cga1x1x1_16dp256b_rM_TN_transOut_biasM_sm100f"
SPLIT_K = "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, true, false>(a)"
FOREACH = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, "
    "std::plus<float>, float>(a)"
)
REDUCE = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, "
    "unsigned int, float, 4> >(a)"
)
SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, int)"
)
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)"
INDEX = "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2>(a)"

FAMILIES = {
    NVJET: "cublaslt-nvjet",
    "nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT": "cublaslt-nvjet",
    "nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN": "cublaslt-nvjet",
    CUTLASS_2: "cutlass-2",
    f"void cutlass::Kernel2<{CUTLASS_2}>({CUTLASS_2}::Params)": "cutlass-2",
    CUTLASS_3: "cutlass-3",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<a> >(b)": "cutlass-3",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<a> > >(b)": "flash-attention",
    XMMA: "xmma-gemm",
    XMMA_CONVOLUTION: "xmma-convolution",
    AMPERE: "gemm-by-architecture",
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn": "gemm-by-architecture",
    "volta_sgemm_128x32_sliced1x4_tn": "gemm-by-architecture",
    "sgemm_32x32x32_NN": "gemm-by-architecture",
    SPLIT_K: "split-k-reduce",
    "void gemv2T_kernel_val<int, int, __nv_bfloat16, float, 128>(a)": "gemv",
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(a)": "gemv",
    "volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1": "cudnn-convolution",
    "cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1": "cudnn-convolution",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(a)": "cudnn-batch-norm",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, true>(a)": "cudnn-convolution",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x256_4x1x1_kernel0_0": "cudnn",
    FLASH: "flash-attention",
    FMHA: "fmha",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)": "memory-efficient-attention",
    BMM: "trtllm-gen-gemm",
    ADD: "aten-elementwise",
    COPY: "aten-elementwise",
    REDUCE: "aten-reduce",
    FOREACH: "aten-foreach",
    SOFTMAX: "aten-softmax",
    NORM: "aten-layer-norm",
    INDEX: "aten-index",
    "triton_poi_fused__unsafe_view_gelu_mul_0": "inductor-poi",
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_12": "inductor-red",
    "triton_per_fused_native_layer_norm_3": "inductor-per",
    "triton_tem_fused_mm_0": "inductor-tem",
    "triton_mm_12": "inductor-tem",
    "_geglu_tanh_forward_kernel": "liger",
    "_copy_page_indices_kernel": "plain",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "nccl",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": "nccl",
    "Memcpy HtoD (Pageable -> Device)": "copy",
    "Memset (Device)": "copy",
    TENSILE: "tensile",
    "void my::thing<int>(int)": "unknown",
    "": "unknown",
}


def parts(name: str) -> dict[str, Part]:
    """The parts by token (the last of equal tokens)."""
    return {part.text: part for part in decode(name).parts}


def assert_covers(kernel: KernelName) -> None:
    name, at = kernel.name, 0
    for part in kernel.parts:
        assert part.text
        assert part.field
        assert part.meaning
        while not name.startswith(part.text, at):
            assert name[at] in SEPARATORS, (part, name[at:])
            at += 1
        at += len(part.text)
    assert set(name[at:]) <= SEPARATORS, name[at:]


@pytest.mark.parametrize("name", FAMILIES, ids=lambda name: name[:40] or "empty")
def test_family_and_cover(name: str) -> None:
    kernel = decode(name)
    assert kernel.family == FAMILIES[name]
    assert kernel.what.endswith(".")
    assert kernel.maker != "unknown" or kernel.family in ("plain", "unknown")
    assert_covers(kernel)


@given(st.text())
def test_any_text(name: str) -> None:
    assert_covers(decode(name))
    assert is_gemm(name) in (True, False)


_tokens = re.findall(r"\w+|\W", " ".join(FAMILIES), re.ASCII)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*sorted(set(_tokens)), "_", "::", "<", ">", "(", ")", "->", "operator"])).map(
        "".join
    )
)
def test_any_mixture_of_tokens(name: str) -> None:
    assert_covers(decode(name))


@given(st.sampled_from(list(FAMILIES)), st.data())
def test_cut_off_names(name: str, data: st.DataObject) -> None:
    """Tools cut names off; the rest is still covered."""
    assert_covers(decode(name[: data.draw(st.integers(0, len(name)))]))


def test_nvjet_says_what_is_known_and_what_is_not() -> None:
    token = parts(NVJET)
    assert token["sm90"].meaning.startswith("compute capability 9.0: Hopper")
    assert token["tst"].meaning == "A and B in bfloat16, sums in float32, result in bfloat16"
    assert token["256x128"].field == "tile"
    assert token["64x4"].field == "stages"
    assert token["1x2"].field == "cluster"
    assert token["bias"].field == "epilogue"
    assert token["TN"].meaning.startswith("op(A)=T, op(B)=N")
    undocumented = {text for text, part in token.items() if not part.known}
    assert undocumented == {"h", "bz", "coopA", "T"}
    assert all("not documented" in token[text].meaning for text in undocumented)
    assert not parts("nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_TNT")["qqtst"].known


def test_cutlass_2() -> None:
    assert [(p.field, p.text) for p in decode(CUTLASS_2).parts] == [
        ("library", "cutlass"),
        ("arch", "80"),
        ("unit", "wmma"),
        ("unit", "tensorop"),
        ("dtype", "bf16"),
        ("instruction", "s161616gemm"),
        ("dtype", "bf16"),
        ("tile", "32x32"),
        ("stages", "32x1"),
        ("layout", "tn"),
        ("alignment", "align8"),
    ]
    assert "16x16x16" in parts(CUTLASS_2)["s161616gemm"].meaning
    assert all(part.known for part in decode(CUTLASS_2).parts)


def test_cutlass_3() -> None:
    token = parts(CUTLASS_3)
    assert (
        token["bf16_bf16_f32_bf16_bf16"].meaning
        == "A: bfloat16, B: bfloat16, sums: float32, C: bfloat16, D: bfloat16"
    )
    assert (token["128x128x64"].field, token["2x1x1"].field) == ("tile", "cluster")
    assert all(part.known for part in token.values())


def test_layouts_column_by_column() -> None:
    assert "A lies with K contiguous, B with K" in parts("volta_sgemm_128x32_tn")["tn"].meaning
    assert "A lies with M contiguous, B with K" in parts("volta_sgemm_128x32_nn")["nn"].meaning
    assert "A lies with M contiguous, B with N" in parts("volta_sgemm_128x32_nt")["nt"].meaning
    assert parts("Cijk_Alik_Bljk_SB_MT64x16x32")["Alik"].meaning.endswith("T")
    assert parts("Cijk_Ailk_Bjlk_SB_MT64x16x32")["Ailk"].meaning.endswith("N")
    assert parts("Cijk_Ailk_Bjlk_SB_MT64x16x32")["Bjlk"].meaning.endswith("T")


def test_aten() -> None:
    by_field = {part.field: part for part in decode(ADD).parts}
    assert by_field["vector"].meaning == "elements moved by one load: 8"
    assert by_field["memory"].meaning.startswith("3 pointers: one output and 2 inputs")
    assert (
        parts(ADD)["at::native::CUDAFunctor_add<c10::BFloat16>"].meaning
        == "what is computed: add, in bfloat16"
    )
    assert "what is computed: direct_copy, in bfloat16" in [part.meaning for part in decode(COPY).parts]
    assert "the reduction: MeanOps" in [part.meaning for part in decode(REDUCE).parts]
    assert "causal mask: true" in [part.meaning for part in decode(FLASH).parts]
    assert any(part.meaning.startswith("head size 64") for part in decode(FLASH).parts)


def test_inductor_operators() -> None:
    assert [(p.field, p.text) for p in decode("triton_poi_fused__unsafe_view_gelu_mul_0").parts] == [
        ("library", "triton"),
        ("category", "poi"),
        ("op", "fused"),
        ("op", "_unsafe_view"),
        ("op", "gelu"),
        ("op", "mul"),
        ("number", "0"),
    ]
    assert not parts("triton_poi_fused_frobnicate_mul_0")["frobnicate"].known


def test_hand_written_names_are_not_told_from_cuda_c() -> None:
    kernel = decode("my_kernel")
    assert kernel.maker == "unknown"
    assert "can't tell" in kernel.what
    assert kernel.family == "plain"


MAKERS = [
    line.split("\t")
    for line in (Path(__file__).parent / "makers.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("maker", "name"), MAKERS, ids=lambda text: text[:40])
def test_a_maker_is_named_where_the_name_proves_it(maker: str, name: str) -> None:
    assert decode(name).maker == maker
    assert_covers(decode(name))


def test_makers_in_the_second_corpus() -> None:
    names = [kernel.name for kernel in kernels(SECOND / "decoder_names.json")]
    makers = ["Triton", "Triton", "Triton", "Triton (Helion)", "CUTLASS", "Inductor"]
    assert [decode(name).maker for name in names] == makers
    assert decode(names[-1]).parts[-1].text == ".kd"


def test_mangled_cutlass_is_read_as_if_demangled() -> None:
    inner = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_tn_align2"
    kernel = decode(f"_ZN7cutlass7Kernel2I{len(inner)}{inner}EEvNT_6ParamsE")
    parts = [part for part in kernel.parts if part in decode(inner).parts]
    assert parts == list(decode(inner).parts)
    assert is_gemm(kernel.name)


def test_architectures() -> None:
    assert decode("blackwell_bf16_s16816gemm_bf16_128x64_ldg8_stages_64x4_nn").maker == "cuBLAS"
    assert parts("cutlass_tensorop_s16816gemm_bf16_128x64_64x4_tn_align8_sm120")["sm120"].field == "arch"


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("", "a", ""),
        ("void f<", "g<", ">(int)"),
        ("void ", "a::", "f(int)"),
        ("void f<", "1,", ">(x)"),
        ("void x<", "_kernel_cud", ">(x)"),
        ("void cutlass::device_kernel<", "enable_a<", ">(P)"),
        ("_ZN", "1a", "E"),
        ("_ZN", "9", ""),
        ("ampere_", "sgemm_", ""),
        ("triton_poi_fused_", "add_", "0"),
        ("sm80_xmma_gemm_", "warpsize_", ""),
        ("k", " [clone .kd]", ""),
        ("a_0", "1", ""),
    ],
)
def test_a_hostile_name_takes_time_in_proportion(before: str, unit: str, after: str) -> None:
    start = time.perf_counter()
    assert_covers(decode(before + unit * 20_000 + after))
    assert time.perf_counter() - start < 2, "what is quadratic takes half a minute"


def test_is_communication() -> None:
    yes = [
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
        "mscclKernel_Sum_half_LL_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
        "hcom_allReduce__721_0_1",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
        "void c10d::symmetric_memory::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(int)1>(int)",
    ]
    no = [
        "block_all_reduce_sum_f32_kernel",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ncclKernel> >(float)",
        "nccl_style_copy",
        "nvjet_sm90_tst_64x8_64x16_1x4_h_bz_NNT",
    ]
    assert [name for name in yes if not is_communication(name)] == []
    assert [name for name in no if is_communication(name)] == []


def test_is_gemm() -> None:
    yes = [
        NVJET,
        CUTLASS_2,
        CUTLASS_3,
        XMMA,
        AMPERE,
        BMM,
        TENSILE,
        "triton_tem_fused_mm_0",
        "_matmul_kernel",
        "gemm_kernel<int>(int)",
    ]
    no = [ADD, SPLIT_K, XMMA_CONVOLUTION, FLASH, "triton_poi_fused_mm_0", "Memset (Device)", "my_kernel", ""]
    assert [name for name in yes if not is_gemm(name)] == []
    assert [name for name in no if is_gemm(name)] == []


@pytest.mark.parametrize("module", ["cpp", "decode", "mangled", "triton"])
def test_examples_in_docstrings(module: str) -> None:
    examples = doctest.testmod(import_module(f"kinetoscope.kernel_names.{module}"))
    assert examples.attempted
    assert not examples.failed


# What is called "checked on recorded launches" is checked here.


def test_sources_name_a_test_that_is_there() -> None:
    named = [re.findall(r"tests/\S+\.py", text) for text in vars(sources).values() if isinstance(text, str)]
    paths = {path for each in named for path in each}
    assert paths
    for path in paths:
        assert (Path(__file__).parents[2] / path).samefile(__file__)


@cache
def kernels(path: Path) -> list[Event]:
    return load(path).kernels


def launches(folder: Path, prefix: str) -> list[Event]:
    return [
        e for path in sorted(folder.glob("*.json.gz")) for e in kernels(path) if e.name.startswith(prefix)
    ]


def assert_shared_memory(event: Event) -> None:
    """What A's and B's slices take, and room for the rest."""
    match = re.search(r"_(\d+)x(\d+)_(\d+)x(\d+)_\d+x\d+_(2cta)?", event.name)
    assert match is not None, event.name
    m, n, k, stages = map(int, match.groups()[:4])
    columns = n // 2 if match[5] else n
    assert 8 * 1024 <= event.args["shared memory"] - (m + columns) * k * 2 * stages <= 18 * 1024, event.name


def matrices(event: Event) -> tuple[list[int], list[int]] | None:
    """The shapes that ``aten::mm`` or ``aten::addmm`` multiplied."""
    op = event.op
    if op is None or op.name not in ("aten::mm", "aten::addmm"):
        return None
    shapes: list[Any] = op.args.get("Input Dims") or op.args.get("Input dims") or []
    operands = shapes[:2] if op.name == "aten::mm" else shapes[1:3]
    return (operands[0], operands[1]) if len(operands) == 2 else None  # no shapes recorded


def tiles(event: Event) -> int | None:
    """How many tiles the product has by its name, rounded up to whole clusters."""
    shapes = matrices(event)
    match = re.search(r"_(\d+)x(\d+)_(?:\d+x\d+_(\d+)x(\d+)_)?", event.name)
    if shapes is None or match is None:
        return None
    m, n = shapes[1][1], shapes[0][0]  # as BLAS counts
    count = 1
    for size, tile, cluster in ((m, match[1], match[3]), (n, match[2], match[4])):
        along = math.ceil(size / int(tile))
        count *= math.ceil(along / int(cluster or 1)) * int(cluster or 1)
    return count


def test_nvjet_tile_and_stages_are_what_shared_memory_says() -> None:
    recorded = launches(OURS, "nvjet_")
    assert len({event.name for event in recorded}) >= 6
    for event in recorded:
        assert_shared_memory(event)


def test_nvjet_types_are_those_of_the_inputs() -> None:
    typed = [
        e for e in launches(OURS, "nvjet_") if "_tst_" in e.name and e.op and e.op.args.get("Input type")
    ]
    assert len(typed) >= 20
    for event in typed:
        assert event.op is not None
        assert {t for t in event.op.args["Input type"] if t and t != "Scalar"} == {"c10::BFloat16"}


@pytest.mark.parametrize(("trace", "letters"), [("linear", "TN"), ("matmul_add", "NN")])
def test_nvjet_layout_is_that_of_the_operands(trace: str, letters: str) -> None:
    """nn.Linear's weight lies transposed; two contiguous tensors do not."""
    events = [e for path in sorted(OURS.glob(f"{trace}_*.json.gz")) for e in kernels(path)]
    names = [event.name for event in events if event.name.startswith("nvjet_")]
    assert names
    for name in names:
        assert [part.text for part in decode(name).parts if part.field == "layout"] == [letters]


def test_nvjet_beta() -> None:
    """``badd`` where addmm's first input is a matrix, ``bz`` elsewhere."""
    seen = set()
    for event in launches(OURS, "nvjet_"):
        if event.op is not None and event.op.name in ("aten::mm", "aten::addmm"):
            shapes = event.op.args["Input Dims"]
            adds = event.op.name == "aten::addmm" and len(shapes[0]) == 2
            assert ("_badd_" in event.name, "_bz_" in event.name) == (adds, not adds)
            seen.add(adds)
    assert seen == {True, False}


@beside
def test_elsewhere_too_tiles_are_as_named() -> None:
    b200 = launches(REAL, "nvjet_")
    for event in b200:
        assert_shared_memory(event)
    counted = 0
    for event in [*b200, *launches(REAL, "volta_sgemm_")]:
        expected = tiles(event)
        if expected is not None:
            grid = event.args["grid"]
            assert grid[0] * grid[1] == expected, (event.name, grid)
            counted += 1
    assert counted >= 100


def shares(folder: Path) -> tuple[float, float]:
    """Share of kernels decoded, by count and by GPU time; printed with what was not."""
    launched = [
        e for path in sorted(folder.glob("*.json.gz")) for e in kernels(path) if e.kind is Kind.KERNEL
    ]
    known = [e for e in launched if decode(e.name).family not in ("plain", "unknown")]
    count = len(known) / len(launched)
    time = sum(e.dur for e in known) / sum(e.dur for e in launched)
    names = {e.name for e in launched}
    left = sorted(names - {e.name for e in known})
    print(f"{folder}: {len(launched)} kernels, {count:.4%} decoded, {time:.4%} of GPU time; not: {left}")
    for name in names:
        assert_covers(decode(name))
    return count, time


def test_share_of_our_traces() -> None:
    assert shares(OURS) == (1, 1)


@beside
def test_share_of_the_corpus() -> None:
    count, time = shares(REAL)
    assert count >= 0.999
    assert time >= 0.999
