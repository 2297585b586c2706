ALTER TABLE "endpoint" ADD COLUMN "flash_boot_standby" text DEFAULT 'AUTO' NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "gpu_offload" jsonb;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "standby_level" text DEFAULT 'GPU' NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "standby_reached" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "offloaded_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "suspended" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "gpu_memory_bytes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "offload_bytes" bigint;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "offload_ms" integer;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "restore_bytes" bigint;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "restore_ms" integer;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "offload_failure" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint" ADD CONSTRAINT "endpoint_flash_boot_standby_known" CHECK ("endpoint"."flash_boot_standby" IN ('AUTO', 'GPU', 'HOST'));--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_standby_level_known" CHECK ("worker"."standby_level" IN ('GPU', 'HOST'));--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_standby_reached_known" CHECK ("worker"."standby_reached" IN ('', 'GPU', 'HOST'));--> statement-breakpoint
-- A worker that is to be in host memory gives up its GPUs at once: core starts nobody there before its agent says that it has left them. A suspended one keeps
-- them. One that is to run again has them before its agent is asked to restore it; the primary key refuses a GPU that another has.
CREATE FUNCTION gpu_hold_of_standby() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.desired = 'FREEZE' AND NEW.standby_level = 'HOST' AND NOT NEW.suspended THEN
    DELETE FROM gpu_hold WHERE worker_id = NEW.id;
  ELSIF NOT EXISTS (SELECT FROM gpu_hold WHERE worker_id = NEW.id) THEN
    INSERT INTO gpu_hold (machine_id, gpu_uuid, worker_id) SELECT NEW.machine_id, unnest(NEW.gpu_uuids), NEW.id;
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_standby AFTER UPDATE OF standby_level, desired, suspended ON worker FOR EACH ROW
  WHEN (NEW.gpu_uuids <> '{}' AND NEW.ended_at IS NULL AND NEW.state <> 'UNHEALTHY' AND NEW.desired IN ('RUN', 'FREEZE')
    AND (OLD.standby_level <> NEW.standby_level OR OLD.desired <> NEW.desired OR OLD.suspended <> NEW.suspended))
  EXECUTE FUNCTION gpu_hold_of_standby();
