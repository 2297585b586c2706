"""What the `openai` package makes of the account's address, as JSON. Arguments: address, key, model of a queue, model of a server."""

import base64
import json
import sys

import openai

ADDRESS, KEY, QUEUE, SERVER = sys.argv[1:]
CLIENT = openai.OpenAI(base_url=ADDRESS, api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def chat(model, **more):
    return CLIENT.chat.completions.create(model=model, messages=[{"role": "user", "content": "one two"}], **more)


def text_of(answer):
    """The text that a worker of these tests gives as an image."""
    return base64.b64decode(answer.data[0].b64_json).decode()


def seen_of(model):
    """What one model answers."""
    whole = chat(model)
    tool = chat(model, tools=TOOLS).choices[0].message.tool_calls[0].function
    words = [part.choices[0].delta.content or "" for part in chat(model, stream=True) if part.choices]
    sound = ("a.wav", b"sound", "audio/wav")
    images = [("1.png", b"one", "image/png"), ("2.png", b"two", "image/png")]
    edited = [CLIENT.images.edit(model=model, prompt="mend", image=given) for given in (images[0], images)]
    return {
        "chat": [whole.model, whole.choices[0].message.content],
        "tool": [tool.name, tool.arguments],
        "stream": "".join(words),
        "transcription": CLIENT.audio.transcriptions.create(model=model, file=sound).text,
        "translation": CLIENT.audio.translations.create(model=model, file=sound).text,
        "embedding": CLIENT.embeddings.create(model=model, input=["abc"]).data[0].embedding,
        "image": text_of(CLIENT.images.generate(model=model, prompt="a boat")),
        "edited": [text_of(each) for each in edited],
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
            "unknown": failure(),
        }
    )
)
