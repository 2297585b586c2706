/** Carries out a plan, one resource after the other. After a failure the next run continues: it plans what is left. */

import { ownTemplateOf } from '@slipway/facades/resources/templates/own-template';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { UpdateSecretRequest } from '@slipway/proto/gen/slipway/v1/secret_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Changes } from '../changes.ts';
import { changesOf } from '../changes.ts';
import type { Cli } from '../cli.ts';
import { RejectedError } from '../failures.ts';
import { count } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import type { Account } from './account.ts';
import { isRecord } from './check-values.ts';
import type { Section } from './sections.ts';
import { CONTAINER, SETTINGS, WORDS } from './sections.ts';
import type { Step } from './steps.ts';
import { contractFields } from './values.ts';

type Values = Readonly<Record<string, unknown>>;

export class PlanExecutor {
  readonly #cli: Cli;
  /** Ids by section and name, of existing and of created resources. */
  readonly #ids: Record<Section, Map<string, string>>;

  constructor(cli: Cli, account: Account) {
    this.#cli = cli;
    const byName = (all: readonly { id: string; name: string }[]) => new Map(all.map(({ id, name }) => [name, id]));
    this.#ids = {
      secrets: byName(account.secrets),
      registryAuths: byName(account.registryAuths),
      networkVolumes: byName(account.networkVolumes),
      templates: byName(account.templates),
      endpoints: byName(account.endpoints),
    };
  }

  /**
   * Carries out the steps in their order. If one fails, notes how many were done, and throws core's error with the name
   * of the resource.
   */
  async run(steps: readonly Step[]): Promise<void> {
    const { output } = this.#cli;
    const changes = steps.filter(({ action }) => action !== 'keep');
    for (const [done, step] of changes.entries()) {
      const what = `${WORDS[step.section]} ${step.name}`;
      output.progress(`${step.action} ${what}`);
      try {
        const id = await this.#carryOut(step);
        if (id !== undefined) this.#ids[step.section].set(step.name, id);
        step.id ??= id;
      } catch (error) {
        if (done > 0)
          output.note(
            `${done} of ${count(changes.length, 'change')} made. The same command continues with the others.`,
          );
        if (!(error instanceof CoreError)) throw error;
        throw new CoreError(error.reason, `${what}: ${error.message}`, { cause: error.cause });
      }
    }
    output.clearProgress();
  }

  /** Returns the id of the created resource. */
  #carryOut(step: Step): Promise<string | undefined> {
    if (step.action === 'keep') return Promise.resolve(undefined);
    if (step.action === 'delete') return this.#delete(step);
    switch (step.section) {
      case 'secrets':
        return this.#secret(step);
      case 'registryAuths':
        return this.#registryAuth(step);
      case 'networkVolumes':
        return this.#volume(step);
      case 'templates':
        return this.#template(step);
      case 'endpoints':
        return this.#endpoint(step);
    }
  }

  async #secret({ name, id, values, secret: value }: Step): Promise<string> {
    const { secrets } = this.#cli.core;
    const description = values['description'] as string | undefined;
    if (id === undefined) {
      const request = { name, value: value!, description: description ?? '', requestId: this.#newId() };
      return (await this.#send(() => secrets.call((client) => client.createSecret, request))).secret!.id;
    }
    const given = { id, ...(value !== undefined && { value }), ...(description !== undefined && { description }) };
    await this.#send(() => secrets.call((client) => client.updateSecret, UpdateSecretRequest.fromPartial(given)));
    return id;
  }

  async #registryAuth({ name, id, values, secret: password = '' }: Step): Promise<string> {
    const { registryAuths } = this.#cli.core;
    const login = { username: String(values['username']), password };
    if (id === undefined) {
      const request = { name, ...login, requestId: this.#newId() };
      const { registryAuth } = await this.#send(() =>
        registryAuths.call((client) => client.createRegistryAuth, request),
      );
      return registryAuth!.id;
    }
    await this.#send(() => registryAuths.call((client) => client.updateRegistryAuth, { id, ...login }));
    return id;
  }

  async #volume({ name, id, values }: Step): Promise<string> {
    const { volumes } = this.#cli.core;
    const sizeGb = values['size'] as number;
    if (id !== undefined) {
      const request = { networkVolume: NetworkVolume.fromPartial({ id, sizeGb }), updateMask: ['size_gb'] };
      await this.#send(() => volumes.call((client) => client.updateNetworkVolume, request));
      return id;
    }
    const networkVolume = NetworkVolume.fromPartial({ name, sizeGb, dataCenterId: String(values['dataCenterId']) });
    const request = { networkVolume, requestId: this.#newId() };
    return (await this.#send(() => volumes.call((client) => client.createNetworkVolume, request))).networkVolume!.id;
  }

  async #template(step: Step): Promise<string> {
    const { templates } = this.#cli.core;
    const { id, name } = step;
    const { fields, mask } = this.#containerOf(SETTINGS.templates, step.values);
    if (id === undefined) {
      const template = Template.fromPartial({ ...fields, name, serverless: true });
      const request = { template, requestId: this.#newId() };
      return (await this.#send(() => templates.call((client) => client.createTemplate, request))).template!.id;
    }
    const request = { template: Template.fromPartial({ ...fields, id }), updateMask: mask };
    await this.#send(() => templates.call((client) => client.updateTemplate, request));
    return id;
  }

  async #endpoint({ id, name, values, changes }: Step): Promise<string> {
    const { endpoints } = this.#cli.core;
    const { template, networkVolumes } = values;
    const isOwn = isRecord(template);
    const changed = (setting: string): boolean => changes.some((one) => one.setting.split('.')[0] === setting);
    const wanted = (setting: string): boolean => id === undefined || changed(setting);
    const settings = SETTINGS.endpoints.filter((setting) => wanted(setting.name));
    const { fields, mask } = changesOf<Endpoint>({
      ...contractFields(settings, values),
      ...(!isOwn && wanted('template') && { templateId: this.#idOf('templates', template) }),
      ...(networkVolumes !== undefined &&
        wanted('networkVolumes') && {
          networkVolumeIds: (networkVolumes as string[]).map((volume) => this.#idOf('networkVolumes', volume)),
        }),
    });
    const container = isOwn && wanted('template') ? this.#containerOf(CONTAINER, template) : undefined;
    const ownTemplate = container && { ownTemplate: ownTemplateOf(container.fields, container.mask) };
    if (id === undefined) {
      const { workersMax, retryLimit } = fields;
      const endpoint = Endpoint.fromPartial({ ...fields, name });
      const request = { endpoint, requestId: this.#newId(), workersMax, retryLimit, ...ownTemplate };
      return (await this.#send(() => endpoints.call((client) => client.createEndpoint, request))).endpoint!.id;
    }
    const request = { endpoint: Endpoint.fromPartial({ ...fields, id }), updateMask: mask, ...ownTemplate };
    await this.#send(() => endpoints.call((client) => client.updateEndpoint, request));
    return id;
  }

  /** Deletes a resource that --prune found. Keeps an endpoint that has work. */
  async #delete({ section, name, id = '' }: Step): Promise<undefined> {
    const { endpoints, templates, jobs } = this.#cli.core;
    if (section === 'templates') {
      await this.#send(() => templates.call((client) => client.deleteTemplate, { id }));
      return undefined;
    }
    const { jobs: counts } = await jobs.call((client) => client.getHealth, { endpointId: id });
    const left = counts!.inQueue + counts!.inProgress;
    if (left > 0)
      throw new RejectedError(
        `The endpoint ${name} has ${left} jobs that wait or run, so it was not deleted. See: ` +
          `slipway jobs list -e ${id}`,
      );
    await this.#send(() => endpoints.call((client) => client.deleteEndpoint, { id, stopWorkers: true }));
    return undefined;
  }

  #containerOf(settings: typeof CONTAINER, values: Values): Changes<Template> {
    const { registryAuth } = values;
    return changesOf<Template>({
      ...contractFields(settings, values),
      ...(registryAuth !== undefined && {
        registryAuthId: registryAuth === '' ? '' : this.#idOf('registryAuths', registryAuth),
      }),
    });
  }

  #idOf(section: Section, name: unknown): string {
    return this.#ids[section].get(String(name))!;
  }

  #newId(): string {
    return this.#cli.random.uuid();
  }

  /** Repeats a call while core is away: every call here is safe to repeat. */
  #send<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    return retryWhileAway(this.#cli, call);
  }
}
