"""What the `openai` package makes of the account's address, as JSON. Arguments: address, key, model of a queue, model of a server."""

import json
import sys

import openai

ADDRESS, KEY, QUEUE, SERVER = sys.argv[1:]
CLIENT = openai.OpenAI(base_url=ADDRESS, api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def chat(model, **more):
    return CLIENT.chat.completions.create(model=model, messages=[{"role": "user", "content": "one two"}], **more)


def seen_of(model):
    """What one model answers."""
    whole = chat(model)
    tool = chat(model, tools=TOOLS).choices[0].message.tool_calls[0].function
    words = [part.choices[0].delta.content or "" for part in chat(model, stream=True) if part.choices]
    text = CLIENT.audio.transcriptions.create(model=model, file=("a.wav", b"sound", "audio/wav")).text
    return {
        "chat": [whole.model, whole.choices[0].message.content],
        "tool": [tool.name, tool.arguments],
        "stream": "".join(words),
        "transcription": text,
    }


def failure():
    """How an unknown model fails."""
    try:
        chat("gpt-5")
    except openai.NotFoundError as error:
        return {"code": error.code, "message": error.body["message"]}
    return None


print(
    json.dumps(
        {
            "models": sorted(model.id for model in CLIENT.models.list()),
            "one": CLIENT.models.retrieve("org/echo").id,
            "queue": seen_of(QUEUE),
            "server": seen_of(SERVER),
            "speech": CLIENT.audio.speech.create(model=SERVER, voice="alloy", input="spoken").content.decode(),
            "embedding": CLIENT.embeddings.create(model=QUEUE, input=["abc"]).data[0].embedding,
            "image": CLIENT.images.generate(model=QUEUE, prompt="a boat").data[0].b64_json,
            "unknown": failure(),
        }
    )
)
