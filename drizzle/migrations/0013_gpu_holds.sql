CREATE TABLE "gpu_hold" (
	"machine_id" text NOT NULL,
	"gpu_uuid" text NOT NULL,
	"worker_id" text,
	"pod_id" text,
	CONSTRAINT "gpu_hold_machine_id_gpu_uuid_pk" PRIMARY KEY("machine_id","gpu_uuid"),
	CONSTRAINT "gpu_hold_has_one_holder" CHECK (num_nonnulls("gpu_hold"."worker_id", "gpu_hold"."pod_id") = 1)
);
--> statement-breakpoint
ALTER TABLE "gpu_hold" ADD CONSTRAINT "gpu_hold_worker_id_worker_id_fk" FOREIGN KEY ("worker_id") REFERENCES "public"."worker"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "gpu_hold" ADD CONSTRAINT "gpu_hold_pod_id_pod_id_fk" FOREIGN KEY ("pod_id") REFERENCES "public"."pod"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "gpu_hold_worker_idx" ON "gpu_hold" USING btree ("worker_id");--> statement-breakpoint
CREATE INDEX "gpu_hold_pod_idx" ON "gpu_hold" USING btree ("pod_id");--> statement-breakpoint
-- A worker has its GPUs until it has ended, however long that takes. A frozen one that is to go gives them up at once: whoever takes its place waits at
-- their agent until it has gone.
CREATE FUNCTION gpu_hold_of_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO gpu_hold (machine_id, gpu_uuid, worker_id) SELECT NEW.machine_id, unnest(NEW.gpu_uuids), NEW.id;
  ELSE
    DELETE FROM gpu_hold WHERE worker_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_worker_begun AFTER INSERT ON worker FOR EACH ROW WHEN (NEW.ended_at IS NULL AND NEW.gpu_uuids <> '{}')
  EXECUTE FUNCTION gpu_hold_of_worker();--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_worker_ended AFTER UPDATE OF ended_at, desired ON worker FOR EACH ROW WHEN (OLD.gpu_uuids <> '{}'
  AND ((OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) OR (OLD.desired = 'FREEZE' AND NEW.desired = 'DRAIN')))
  EXECUTE FUNCTION gpu_hold_of_worker();--> statement-breakpoint
CREATE FUNCTION gpu_hold_of_pod() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gpu_hold WHERE pod_id = NEW.id;
  INSERT INTO gpu_hold (machine_id, gpu_uuid, pod_id) SELECT NEW.machine_id, unnest(NEW.gpu_uuids), NEW.id WHERE NEW.desired = 'RUNNING';
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_pod_begun AFTER INSERT ON pod FOR EACH ROW WHEN (NEW.gpu_uuids <> '{}') EXECUTE FUNCTION gpu_hold_of_pod();--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_pod_changed AFTER UPDATE OF gpu_uuids, desired ON pod FOR EACH ROW
  WHEN (OLD.gpu_uuids <> NEW.gpu_uuids OR OLD.desired <> NEW.desired) EXECUTE FUNCTION gpu_hold_of_pod();--> statement-breakpoint
-- What runs has what it has; where two are written down for one GPU (a frozen one on its way out), the one that stays has it.
INSERT INTO gpu_hold (machine_id, gpu_uuid, worker_id, pod_id)
SELECT DISTINCT ON (machine_id, gpu_uuid) machine_id, gpu_uuid, worker_id, pod_id FROM (
  SELECT machine_id, unnest(gpu_uuids) AS gpu_uuid, id AS worker_id, NULL AS pod_id, CASE desired WHEN 'RUN' THEN 0 WHEN 'FREEZE' THEN 2 ELSE 3 END AS place,
    created_at FROM worker WHERE ended_at IS NULL
  UNION ALL SELECT machine_id, unnest(gpu_uuids), NULL, id, 1, last_started_at FROM pod WHERE desired = 'RUNNING'
) held ORDER BY machine_id, gpu_uuid, place, created_at DESC;
