ALTER TABLE "worker" DROP CONSTRAINT "worker_desired_known";--> statement-breakpoint
ALTER TABLE "worker" DROP CONSTRAINT "worker_state_known";--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "standby_max" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "desired_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_desired_known" CHECK ("worker"."desired" IN ('RUN', 'FREEZE', 'DRAIN', 'GONE'));--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_state_known" CHECK ("worker"."state" IN ('INITIALIZING', 'READY', 'FROZEN', 'DRAINING', 'UNHEALTHY', 'STOPPED'));--> statement-breakpoint
UPDATE "worker" SET desired_at = created_at;--> statement-breakpoint
-- As before, but a frozen worker uses nothing: its time ends when it stands still, and a new span begins when it goes on.
CREATE OR REPLACE FUNCTION usage_of_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' AND NEW.ended_at IS NULL
    AND (TG_OP = 'INSERT' OR (OLD.state = 'FROZEN' AND NEW.state IN ('INITIALIZING', 'READY'))) THEN
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
  ELSIF TG_OP = 'UPDATE' AND ((OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)
    OR (OLD.state NOT IN ('UNHEALTHY', 'FROZEN') AND NEW.state IN ('UNHEALTHY', 'FROZEN'))) THEN
    PERFORM usage_span_close('WORKER', NEW.id);
  END IF;
  RETURN NULL;
END $$;
