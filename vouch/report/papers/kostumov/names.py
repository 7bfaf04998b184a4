"""The datasets and models of Kostumov et al. 2024, as they name them."""

DATASETS = {"mmbench": "MMB", "oodcv": "OOD", "scienceqa": "SQA", "seedbench": "SB", "ai2d": "AI2D"}
# The models of table VII, then those of tables I to VI: both in the paper's order.
SEVENTH = {
    "moe_llava_phi2_2_7b_4e": "MoE-LLaVA-Phi2-2.7B",
    "moe_llava_qwen_1_8b_4e": "MoE-LLaVA-Qwen-1.8B",
    "moe_llava_stablelm_1_6b_4e": "MoE-LLaVA-StableLM-1.6B",
    "mobilevlm_1_7b": "MobileVLM-1.7B",
    "mobilevlm_3b": "MobileVLM-3B",
    "mobilevlm_v2_1_7b": "MobileVLMV2-1.7B",
    "mobilevlm_v2_3b": "MobileVLMV2-3B",
    "mobilevlm_v2_7b": "MobileVLMV2-7B",
    "monkey": "Monkey",
    "monkey_chat": "Monkey-Chat",
    "qwen_vl": "Qwen-VL",
    "qwen_vl_chat": "Qwen-VL-Chat",
    "yi_vl_34b": "Yi-VL-34B",
    "yi_vl_6b": "Yi-VL-6B",
    "cogagent_vqa_hf": "CogAgent-VQA",
    "cogvlm_chat_hf": "CogVLM-Chat",
    "cogvlm_grounding_generalist_hf": "CogVLM-Grounding-Generalist",
    "internlm_xcomposer2_7b": "InternLM-XComposer2",
    "internlm_xcomposer2_vl_7b": "InternLM-XComposer2-VL",
    "llava_v1_5_13b": "LLaVA-v1.5-Vicuna-13B",
    "llava_v1_5_7b": "LLaVA-v1.5-Vicuna-7B",
    "llava_v1_6_34b": "LLaVA-v1.6-34B",
    "llava_v1_6_mistral_7b": "LLaVA-v1.6-Mistral-7B",
    "llava_v1_6_vicuna_13b": "LLaVA-v1.6-Vicuna-13B",
    "llava_v1_6_vicuna_7b": "LLaVA-v1.6-Vicuna-7B",
    "mplug_owl2_llama2_7b": "mPLUG-Owl2",
}
TEN = {
    "llava_v1_6_vicuna_13b": "LLaVA-v1.6-13B",
    "monkey_chat": "Monkey-Chat",
    "llava_v1_6_vicuna_7b": "LLaVA-v1.6-7B",
    "internlm_xcomposer2_vl_7b": "InternLM-XComposer2-VL",
    "yi_vl_6b": "Yi-VL-6B",
    "cogagent_vqa_hf": "CogAgent-VQA",
    "mobilevlm_v2_7b": "MobileVLMV2-7B",
    "moe_llava_phi2_2_7b_4e": "MoE-LLaVA-Phi2-2.7B",
    "mplug_owl2_llama2_7b": "mPLUG-Owl2",
    "qwen_vl_chat": "Qwen-VL-Chat",
}
# category of the dataset to the head of the column
SEED = {
    "Scene Understanding": "SU",
    "Instance Identity": "II",
    "Instance Location": "IL",
    "Instance Attributes": "IA",
    "Instances Counting": "IC",
}
SITUATIONS = {
    "weather": "W",
    "context": "Con",
    "occlusion": "Occ",
    "iid": "IID",
    "texture": "Txt",
    "shape": "Shape",
    "pose": "Pose",
}
