CREATE TABLE "given_template" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"version" integer NOT NULL,
	"image_name" text NOT NULL,
	"start_command" text[] NOT NULL,
	"entrypoint" text[] NOT NULL,
	"env" jsonb NOT NULL,
	"env_sealed" "bytea",
	"working_directory" text NOT NULL,
	"container_disk_gb" integer NOT NULL,
	"volume_gb" integer NOT NULL,
	"volume_mount_path" text NOT NULL,
	"ports" text[] NOT NULL,
	"given_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "pod" ADD COLUMN "template_env_sealed" "bytea";--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "given_template" ADD CONSTRAINT "given_template_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
-- Endpoints that use another account's template go on with what it is now.
INSERT INTO "given_template" (endpoint_id, version, image_name, start_command, entrypoint, env, env_sealed, working_directory, container_disk_gb,
  volume_gb, volume_mount_path, ports)
SELECT e.id, t.version, t.image_name, t.start_command, t.entrypoint, t.env, t.env_sealed, t.working_directory, t.container_disk_gb,
  t.volume_gb, t.volume_mount_path, t.ports
FROM "endpoint" e JOIN "template" t ON t.id = e.template_id WHERE t.account_id <> e.account_id;--> statement-breakpoint
-- As before, but with the image and disk that the endpoint was given.
CREATE OR REPLACE FUNCTION usage_of_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.ended_at IS NULL THEN
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, template_id, image_name, locations, gpu_type_id, gpu_count, disk_gb, usd_per_hour)
    SELECT e.account_id, 'WORKER', NEW.id, e.id, t.id, coalesce(given.image_name, t.image_name), m.locations, coalesce(g.name, ''),
      cardinality(NEW.gpu_uuids), coalesce(given.container_disk_gb, t.container_disk_gb),
      coalesce(p.usd_per_hour, 0) * greatest(cardinality(NEW.gpu_uuids), 1)
    FROM endpoint e JOIN template t ON t.id = e.template_id JOIN machine m ON m.id = NEW.machine_id
    LEFT JOIN given_template given ON given.endpoint_id = e.id
    LEFT JOIN LATERAL (SELECT gpu ->> 'name' AS name FROM jsonb_array_elements(m.gpus) gpu WHERE gpu ->> 'uuid' = NEW.gpu_uuids[1]) g ON true
    LEFT JOIN price p ON p.item = coalesce(g.name, 'CPU')
    WHERE e.id = NEW.endpoint_id;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM usage_span_close('WORKER', OLD.id);
  ELSIF (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) OR (OLD.state <> 'UNHEALTHY' AND NEW.state = 'UNHEALTHY') THEN
    PERFORM usage_span_close('WORKER', NEW.id);
  END IF;
  RETURN NULL;
END $$;
