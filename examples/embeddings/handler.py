"""An embedding model behind the OpenAI routes /v1/embeddings and /v1/models; any OpenAI client can use it.

A request to /openai/v1/embeddings arrives as {"openai_route": "/v1/embeddings", "openai_input": the request's body}. A plain job with
{"input": {"text": "..."}} works as well. The model comes with the wordllama package; nothing is downloaded.
"""
import base64
from pathlib import Path

import runpod
import wordllama

MODEL_NAME = "wordllama-l2-supercat-256"
TEXTS_MAX = 512
# The folder of the package is given as its cache, because that is where the package carries weights and tokenizer.
MODEL = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def handler(job):
    """Routes an OpenAI request, or embeds the `text` of a plain job."""
    given = job["input"]
    route = given.get("openai_route")
    if route is None:
        return embeddings({"input": given.get("text")})
    if route == "/v1/models":
        return {"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "wordllama"}]}
    if route == "/v1/embeddings":
        return embeddings(given.get("openai_input") or {})
    return failure(404, f"There is no route {route} here.", "not_found_error")


def embeddings(request):
    """The body of an answer to POST /v1/embeddings. https://platform.openai.com/docs/api-reference/embeddings"""
    if request.get("model", MODEL_NAME) != MODEL_NAME:
        return failure(404, f"The model `{request['model']}` does not exist; there is only `{MODEL_NAME}`.", "not_found_error", "model")
    texts = request.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not 1 <= len(texts) <= TEXTS_MAX or not all(isinstance(text, str) and text for text in texts):
        return failure(400, f"`input` must be a text or a list of 1 to {TEXTS_MAX} texts, none of them empty.", "invalid_request_error", "input")
    vectors = MODEL.embed(texts, norm=True)
    tokens = sum(sum(encoding.attention_mask) for encoding in MODEL.tokenize(texts))
    encode = (lambda row: base64.b64encode(row.astype("<f4").tobytes()).decode()) if request.get("encoding_format") == "base64" else (lambda row: row.tolist())
    data = [{"object": "embedding", "index": index, "embedding": encode(row)} for index, row in enumerate(vectors)]
    return {"object": "list", "data": data, "model": MODEL_NAME, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def failure(code, message, kind, param=None):
    """An OpenAI-style error; the service answers with its `code` as the HTTP status."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


runpod.serverless.start({"handler": handler})
