"""A handler that ends OpenAI requests as worker-vllm does: an async generator whose values also become the job's output. The model decides:

<number>   yield one object that holds so many characters
yield      yield the error that vLLM makes of an unknown model
older      yield it as older releases of vLLM did
enum       yield it with an enum for its code
raise      raise what the openai package raises for it
crash      raise something that is no such error
"""

import http

import runpod

MESSAGE = "The model `gone` isn't \"here\".\nAsk for another: \u00fc \U0001f98a \\"
ERROR = {"message": MESSAGE, "type": "NotFoundError", "param": "model", "code": 404}


async def handler(job):
    """See the top of the file."""
    model = job["input"]["openai_input"]["model"]
    if model == "yield":
        yield {"error": {"error": ERROR}}
    elif model == "older":
        yield {"error": {"object": "error", **ERROR}}
    elif model == "enum":
        yield {"error": {"error": {**ERROR, "code": http.HTTPStatus.NOT_FOUND}}}
    elif model == "raise":
        raise ValueError(f"Error code: 404 - {({'error': ERROR})}")
    elif model == "crash":
        raise ValueError("out of memory")
    else:
        message = {"role": "assistant", "content": "x" * int(model)}
        yield {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
