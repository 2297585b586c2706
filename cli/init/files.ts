/** The files of a new endpoint. */

const HANDLER = `"""Runs one job: gets its input, returns its output."""

import runpod


def handler(job):
    name = job["input"].get("name", "world")
    return {"greeting": f"Hello, {name}!"}


runpod.serverless.start({"handler": handler})
`;

const CONTAINERFILE = `FROM docker.io/library/python:3.12-slim
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY handler.py .
CMD ["python", "-u", "handler.py"]
`;

/** Returns the texts by file name. `name`: of endpoint and image. */
export function filesOf(name: string): Readonly<Record<string, string>> {
  return {
    'handler.py': HANDLER,
    'test_input.json': '{"input": {"name": "Slipway"}}\n',
    'requirements.txt': 'runpod\n',
    Containerfile: CONTAINERFILE,
    'slipway.yaml': `# slipway apply -f slipway.yaml; all settings: slipway apply --schema
endpoints:
  ${JSON.stringify(name)}:
    template:
      imageName: registry.example/${name}:1 # where you push it
    computeType: CPU # remove it for GPUs, and name them: gpuTypeIds
    workersMax: 3
`,
    'README.md': `# ${name}

Try it here, beside the project:  \`npm start -- --handler handler.py\`
Send the test input:              \`slipway jobs run --wait --input '{"name":"Slipway"}'\`

Build and push the image, then deploy it:

    podman build -t registry.example/${name}:1 . && podman push registry.example/${name}:1
    slipway apply -f slipway.yaml
    slipway jobs run --wait --endpoint ${name} --input '{"name":"Slipway"}'
`,
  };
}
