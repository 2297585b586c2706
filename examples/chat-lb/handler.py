"""A chat server for a load-balancing endpoint, with FastAPI: tokens as server-sent events, or over a WebSocket.

It is an HTTP server of its own and knows nothing of jobs. It listens on PORT and answers HEALTH_CHECK_PATH: 204 while its model loads, then 200.
The text comes from a small Markov chain, so it needs no model and no GPU.
"""
import asyncio
import json
import os
import random
import re
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, ValidationError

TEXT = (
    "A good answer is short. A short answer is a good start, and a good start is half of the way. "
    "The harbour answers every boat that calls. Every boat that calls waits for an answer, and the answer is a light on the water. "
    "When the light on the water is green the boat comes in, and the harbour is a good place to start."
)
LOADING_SECONDS = 0.3


class Question(BaseModel):
    """What a client asks."""

    message: str = Field(max_length=10_000)
    tokens: int = Field(default=30, ge=1, le=500)
    pause_ms: int = Field(default=30, ge=0, le=1000)


class Model:
    """For each word the words that came after it."""

    def __init__(self):
        self.words = []
        self.after = {}

    async def load(self):
        """Takes a moment, as real ones do."""
        await asyncio.sleep(LOADING_SECONDS)
        words = re.findall(r"[\w']+|[.,]", TEXT)
        for word, following in zip(words, words[1:]):
            self.after.setdefault(word, []).append(following)
        self.words = words

    async def answer(self, question):
        """Yields one token at a time. The same message always gets the same answer."""
        chance = random.Random(question.message)
        word = "."
        for number in range(question.tokens):
            word = chance.choice(self.after.get(word) or self.words)
            yield word if word in ".," or number == 0 else f" {word}"
            await asyncio.sleep(question.pause_ms / 1000)


model = Model()


@asynccontextmanager
async def lifespan(_app):
    """Loads the model while the server already answers its health path."""
    loading = asyncio.create_task(model.load())
    yield
    loading.cancel()


app = FastAPI(title="chat", lifespan=lifespan)


@app.get(os.environ.get("HEALTH_CHECK_PATH", "/ping"))
async def ping():
    """200: send requests. 204: still loading."""
    return Response(status_code=200 if model.words else 204)


@app.post("/chat")
async def chat(question: Question):
    """One event for each token, then [DONE]. A client that leaves ends it."""

    async def events():
        async for token in model.answer(question):
            yield f"data: {json.dumps({'token': token})}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


@app.websocket("/chat/ws")
async def talk(socket: WebSocket):
    """Each text that comes is a question as above, in JSON; each token goes back as a text, then {"done": true}."""
    await socket.accept()
    try:
        while True:
            try:
                question = Question.model_validate_json(await socket.receive_text())
            except ValidationError as error:
                await socket.send_json({"error": error.errors(include_url=False, include_context=False, include_input=False)})
                continue
            async for token in model.answer(question):
                await socket.send_json({"token": token})
            await socket.send_json({"done": True})
    except WebSocketDisconnect:
        return


if __name__ == "__main__":
    # Without a key of its own it is for this machine only; in a container, whose address only its host can reach, HOST=0.0.0.0.
    uvicorn.run(app, host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ.get("PORT", "80")), log_level="warning")
