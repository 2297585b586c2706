"""Files and batches with the Python client. Prints what it saw as JSON."""

import io
import json
import sys
import time

from openai import OpenAI

base_url, api_key, model = sys.argv[1:4]
client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)


def line(custom_id, content):
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body})


def upload(*lines):
    content = io.BytesIO("\n".join(lines).encode())
    return client.files.create(file=("requests.jsonl", content), purpose="batch")


def create(file):
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"of": "python"}
    )


def until(batch, *states):
    while batch.status not in states:
        time.sleep(0.2)
        batch = client.batches.retrieve(batch.id)
    return batch


def lines(file_id):
    return [json.loads(text) for text in client.files.content(file_id).text.splitlines()]


file = upload(line("a", "one two"), line("b", "fail"), line("c", "three"))
done = until(create(file), "completed", "failed")
outputs = lines(done.output_file_id)
cancelled = create(upload(line("a", "one")))
cancelled = until(client.batches.cancel(cancelled.id), "cancelled", "completed")
pages = 0
for _ in client.batches.list(limit=1).iter_pages():
    pages += 1
    if pages == 2:
        break
print(
    json.dumps(
        {
            "file": [file.purpose, file.status, file.filename],
            "status": done.status,
            "counts": done.request_counts.model_dump(),
            "outputs": [
                [each["custom_id"], each["response"]["status_code"], each["response"]["body"]["choices"][0]["message"]["content"]]
                for each in outputs
            ],
            "errors": [[each["custom_id"], each["response"]["status_code"]] for each in lines(done.error_file_id)],
            "cancelled": cancelled.status,
            "pages": pages,
            "deleted": client.files.delete(file.id).deleted,
        }
    )
)
