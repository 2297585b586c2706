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

Run it here, from the folder of Slipway's project:  \`npm start -- --handler PATH/handler.py\`
Send the test input, beside it:                     \`npx slipway jobs run --wait\`

Build the image with Podman or Docker, make an endpoint of it, and send the test input:

    slipway deploy . --name ${name} --compute CPU --input @test_input.json

The image stays on this machine. For machines elsewhere add \`--push registry.example/${name}\`. The same command again
replaces the workers without a gap. For GPUs leave out \`--compute CPU\` and name them: \`--gpu "NVIDIA L4"\`.

\`slipway.yaml\` describes the same endpoint for \`slipway apply -f slipway.yaml\`, once the image is pushed.
`,
  };
}
