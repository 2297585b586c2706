/** Settings and releases of endpoints for the page. */

/** A change of an endpoint, and the version that it made. */
export interface ReleaseView {
  id: number;
  version: number;
  /** Whether workers of the previous version were replaced. */
  isNew: boolean;
  atMs: number;
  keyId: string;
  /** Empty for the operator, and if the key no longer exists. */
  keyName: string;
  action: string;
  /** Settings by their names in REST. */
  fields: readonly string[];
  /** Changed values as JSON. `undefined`: none, or not stored. */
  values: readonly { field: string; oldJson: string | undefined; newJson: string | undefined }[];
  /** ROLLING, HELD, ROLLED_BACK or COMPLETE. Empty before that, or if there is no new version. */
  outcome: string;
  /** Reason why it was held. */
  outcomeReason: string;
  /** Empty if unknown, or if there is no image. */
  imageDigest: string;
  /** The tag has been resolved to another digest since. */
  imageMoved: boolean;
}

/** An endpoint that was made or changed. */
export interface MadeView {
  id: string;
}

/** Settings of an endpoint and of the template that it runs, by their names in REST. */
export interface EndpointSettingsView {
  settings: Readonly<Record<string, unknown>>;
  /** `isOwn`: only this endpoint runs it, so it changes together with the settings. */
  template: { id: string; name: string; isOwn: boolean; values: Readonly<Record<string, unknown>> };
}

/** A GPU type of connected machines. */
export interface GpuTypeView {
  id: string;
  /** 0 if unknown. */
  memoryGb: number;
  total: number;
  free: number;
}

/** Example of a request to an endpoint. */
export interface ExampleView {
  /** JSON object as text: the input of a job, or of a load-balancing endpoint its method, path and body. */
  input: string;
  /** Job whose input it is. Empty if it is not of a job. */
  jobId: string;
  /** Long texts of the job's input were shortened. */
  isCut: boolean;
  /** Nothing is known of the endpoint's requests: it only shows their form. */
  isGeneral: boolean;
}
