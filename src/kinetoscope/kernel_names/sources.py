"""Where the meanings of the fields are known from."""

CUBLAS = "https://docs.nvidia.com/cuda/cublas/index.html"
CUBLAS_LETTERS = "https://docs.nvidia.com/cuda/cublas/index.html#cublasoperation-t"
CUBLASLT_EPILOGUE = "https://docs.nvidia.com/cuda/cublas/index.html#cublasltepilogue-t"
CUBLASLT_HSH = "https://github.com/NVIDIA/CUDALibrarySamples/tree/main/cuBLASLt/LtHSHgemmStridedBatchSimple"
"""NVIDIA's sample is named HSH: half in, single-precision sums, half out."""
NVJET_IS_CUBLAS = "https://github.com/NVIDIA/Fuser/issues/3279"
"""NVIDIA's nvFuser developers list ``nvjet_hsh_…`` as what cuBLAS ran."""
NVFUSER_COOP_B = "https://github.com/NVIDIA/Fuser/issues/4771"
"""NVIDIA's nvFuser developers call a 192x192 tile shared as 192x96 by two warp groups "coopB"."""
NOT_TOLD = "https://github.com/NVIDIA/TensorRT-LLM/issues/1541"
"""Asked what the parts of a cuBLAS name mean, NVIDIA answered that it is confidential."""
NOT_CUTLASS = "https://github.com/NVIDIA/cutlass/issues/1025"
"""A CUTLASS maintainer confirms a reading of ``cutlass_80_…`` and says ``ampere_…`` is not CUTLASS."""
SHARED_MEMORY = (
    "checked on recorded launches (tests/measure/test_kernel_names.py): shared memory is "
    "(M + N) x K x 2 bytes x stages, plus about 16 KiB"
)
GRID = (
    "checked on recorded launches (tests/measure/test_kernel_names.py): there are as many thread blocks as "
    "tiles, rounded up to whole clusters"
)
RECORDED_TYPES = (
    "checked on recorded launches (tests/measure/test_kernel_names.py): every tst kernel had bfloat16 inputs"
)
CUTLASS = "https://docs.nvidia.com/cutlass/media/docs/cpp/profiler.html#cutlass-3-0-gemm-procedural-names"
CUTLASS_2 = "https://github.com/NVIDIA/cutlass/blob/main/python/cutlass_library/gemm_operation.py"
"""``procedural_name``: architecture, extended name (C type, core name, A type), tile, layout, alignment."""
PTX_MMA = "https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions"
PTX_CTA_GROUP = "https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-cta-pair"
TENSILE = "https://rocm.docs.amd.com/projects/Tensile/en/latest/src/conceptual/kernel-parameters.html"
TRTLLM_FMHA = (
    "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/kernels/"
    "trtllmGenKernels/fmha/cubin/kernelMetaInfo.h"
)
FLASH_TRAITS = "https://github.com/Dao-AILab/flash-attention/blob/main/csrc/flash_attn/src/kernel_traits.h"
FLASH_LAUNCH = (
    "https://github.com/Dao-AILab/flash-attention/blob/main/csrc/flash_attn/src/flash_fwd_launch_template.h"
)
MEM_EFF = (
    "https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/native/transformers/cuda/"
    "mem_eff_attention/kernels/generate_kernels.py"
)
NCCL = "https://github.com/NVIDIA/nccl/blob/master/src/device/generate.py"
NCCL_ENV = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
KINETO_COPIES = "https://github.com/pytorch/kineto/blob/main/libkineto/src/CuptiActivity.cpp"
CUDA_MEMORY = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#page-locked-host-memory"
INDUCTOR = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/codegen/triton.py"
INDUCTOR_OPS = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/utils.py"
INDUCTOR_TEMPLATE = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/select_algorithm.py"
TRITON = "https://triton-lang.org/main/python-api/generated/triton.jit.html"
LIGER = "https://github.com/linkedin/Liger-Kernel/tree/main/src/liger_kernel/ops"
_ATEN = "https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/native/cuda/"
ATEN = _ATEN
ATEN_LOOPS = _ATEN + "CUDALoops.cuh"
ATEN_REDUCE = _ATEN + "Reduce.cuh"
ATEN_MULTI = _ATEN + "MultiTensorApply.cuh"
ATEN_SOFTMAX = _ATEN + "PersistentSoftmax.cuh"
ATEN_INDEX = _ATEN + "IndexKernel.cu"
ATEN_CAT = _ATEN + "Shape.cu"
ATEN_NORM = _ATEN + "layer_norm_kernel.cu"
