"""The eight messages of the mission, and their tokens in cl100k_base, content alone."""

SAMPLE = (
    "我叫李四",
    "你好李四，很高兴认识你！",
    "我是一名设计师",
    "设计师是个很有创造力的职业！你主要做什么类型的设计？",
    "我喜欢艺术和音乐",
    "艺术和音乐都是很好的爱好，它们能激发创作灵感。",
    "我擅长 UI/UX 设计",
    "UI/UX 设计非常重要，好的用户体验能让产品更成功！",
)
SAMPLE_TOKENS = [6, 16, 7, 29, 13, 33, 10, 22]
