CREATE TABLE "endpoint_rollout" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"version" integer NOT NULL,
	"state" text DEFAULT 'CHECKING' NOT NULL,
	"good_version" integer,
	"room_made" boolean DEFAULT false NOT NULL,
	"checked" boolean DEFAULT false NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_rollout_state_known" CHECK ("endpoint_rollout"."state" IN ('CHECKING', 'ROLLING', 'REPLACING', 'HELD', 'ROLLED_BACK', 'COMPLETE'))
);
--> statement-breakpoint
CREATE TABLE "endpoint_version" (
	"endpoint_id" text NOT NULL,
	"version" integer NOT NULL,
	"template_id" text NOT NULL,
	"image_name" text NOT NULL,
	"start_command" text[] NOT NULL,
	"entrypoint" text[] NOT NULL,
	"working_directory" text NOT NULL,
	"container_disk_gb" integer NOT NULL,
	"ports" text[] NOT NULL,
	"registry_auth_id" text,
	"template_env_sealed" "bytea",
	"endpoint_env_sealed" "bytea",
	"gpu_ids" text[] NOT NULL,
	"gpu_count" integer NOT NULL,
	"instance_ids" text[] NOT NULL,
	"locations" text[] NOT NULL,
	"network_volume_ids" text[] NOT NULL,
	"allowed_cuda_versions" text[] NOT NULL,
	"worker_concurrency" integer NOT NULL,
	"good_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_version_endpoint_id_version_pk" PRIMARY KEY("endpoint_id","version")
);
--> statement-breakpoint
ALTER TABLE "endpoint_release" ADD COLUMN "outcome" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_release" ADD COLUMN "outcome_reason" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_rollout" ADD CONSTRAINT "endpoint_rollout_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "endpoint_version" ADD CONSTRAINT "endpoint_version_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "endpoint_rollout_unchecked_idx" ON "endpoint_rollout" USING btree ("endpoint_id") WHERE state = 'CHECKING' AND NOT checked AND good_version IS NOT NULL;--> statement-breakpoint
CREATE INDEX "endpoint_rollout_held_idx" ON "endpoint_rollout" USING btree ("endpoint_id") WHERE state = 'HELD';--> statement-breakpoint
-- The present versions count as good ones, so that the first release after this one can be held. What is still in the clear is not copied.
INSERT INTO "endpoint_version" (endpoint_id, version, template_id, image_name, start_command, entrypoint, working_directory, container_disk_gb, ports,
  registry_auth_id, template_env_sealed, endpoint_env_sealed, gpu_ids, gpu_count, instance_ids, locations, network_volume_ids, allowed_cuda_versions,
  worker_concurrency)
SELECT e.id, e.version, t.id, coalesce(g.image_name, t.image_name), coalesce(g.start_command, t.start_command), coalesce(g.entrypoint, t.entrypoint),
  coalesce(g.working_directory, t.working_directory), coalesce(g.container_disk_gb, t.container_disk_gb), coalesce(g.ports, t.ports), t.registry_auth_id,
  CASE WHEN g.endpoint_id IS NULL THEN t.env_sealed ELSE g.env_sealed END, e.env_sealed, e.gpu_ids, e.gpu_count, e.instance_ids, e.locations,
  e.network_volume_ids, e.allowed_cuda_versions, e.worker_concurrency
FROM "endpoint" e JOIN "template" t ON t.id = e.template_id LEFT JOIN "given_template" g ON g.endpoint_id = e.id
WHERE e.env = '{}' AND coalesce(g.env, t.env) = '{}';--> statement-breakpoint
INSERT INTO "endpoint_rollout" (endpoint_id, version, state, good_version)
SELECT endpoint_id, version, 'COMPLETE', version FROM "endpoint_version";
