"""What LiteLLM and langchain-openai make of the account's address, as JSON. Arguments: address, key, two models."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks another server for prices

import litellm
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

ADDRESS, KEY, FIRST, SECOND = sys.argv[1:]
MESSAGES = [{"role": "user", "content": "one two"}]
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def through_litellm():
    """LiteLLM as a library, and its router over two models."""
    given = {"api_base": ADDRESS, "api_key": KEY, "model": f"openai/{FIRST}"}
    tools = litellm.completion(messages=MESSAGES, tools=[FUNCTION], **given).choices[0].message.tool_calls
    stream = litellm.completion(messages=MESSAGES, stream=True, **given)
    names = [FIRST, SECOND]
    each = [{"model_name": f"m-{name}", "litellm_params": {**given, "model": f"openai/{name}"}} for name in names]
    router = litellm.Router(model_list=each, num_retries=0)
    return {
        "chat": litellm.completion(messages=MESSAGES, **given).choices[0].message.content,
        "tool": tools[0].function.name,
        "stream": "".join(part.choices[0].delta.content or "" for part in stream),
        "embedding": litellm.embedding(input=["abc"], **given).data[0]["embedding"],
        "image": litellm.image_generation(prompt="a boat", **given).data[0].b64_json,
        "router": [router.completion(f"m-{name}", MESSAGES).choices[0].message.content for name in names],
        "unknown": failure(lambda: litellm.completion(messages=MESSAGES, **{**given, "model": "openai/gone"})),
    }


@tool
def look(of: str) -> str:
    """Looks at something."""
    return of


def through_langchain():
    """langchain-openai: chat, stream, batch, tools, embeddings of texts and of their tokens."""
    chat = ChatOpenAI(model=FIRST, base_url=ADDRESS, api_key=KEY, max_retries=0)
    answer = chat.invoke("one two")
    embeddings = OpenAIEmbeddings(model=FIRST, base_url=ADDRESS, api_key=KEY, check_embedding_ctx_length=False)
    return {
        "invoke": [answer.content, answer.usage_metadata["total_tokens"]],
        "stream": "".join(part.content for part in chat.stream("one two")),
        "batch": [each.content for each in chat.batch(["one", "two"])],
        "tool": chat.bind_tools([look]).invoke("one").tool_calls[0]["name"],
        "embedding": embeddings.embed_documents(["abc", "abcd"]),
    }


def failure(call):
    """The error of a call."""
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        return f"{type(error).__name__}: {error}"
    return "it did not fail"


print(json.dumps({"litellm": through_litellm(), "langchain": through_langchain()}))
