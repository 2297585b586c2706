-- A worker that crashed is no longer there, although its place is kept for the next one: its time ends at once.
CREATE OR REPLACE FUNCTION usage_of_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.ended_at IS NULL THEN
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, template_id, image_name, locations, gpu_type_id, gpu_count, disk_gb, usd_per_hour)
    SELECT e.account_id, 'WORKER', NEW.id, e.id, t.id, t.image_name, m.locations, coalesce(g.name, ''), cardinality(NEW.gpu_uuids),
      t.container_disk_gb, coalesce(p.usd_per_hour, 0) * greatest(cardinality(NEW.gpu_uuids), 1)
    FROM endpoint e JOIN template t ON t.id = e.template_id JOIN machine m ON m.id = NEW.machine_id
    LEFT JOIN LATERAL (SELECT gpu ->> 'name' AS name FROM jsonb_array_elements(m.gpus) gpu WHERE gpu ->> 'uuid' = NEW.gpu_uuids[1]) g ON true
    LEFT JOIN price p ON p.item = coalesce(g.name, 'CPU')
    WHERE e.id = NEW.endpoint_id;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM usage_span_close('WORKER', OLD.id);
  ELSIF (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) OR (OLD.state <> 'UNHEALTHY' AND NEW.state = 'UNHEALTHY') THEN
    PERFORM usage_span_close('WORKER', NEW.id);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
DROP TRIGGER usage_of_worker_ended ON worker;--> statement-breakpoint
CREATE TRIGGER usage_of_worker_ended AFTER DELETE OR UPDATE OF ended_at, state ON worker FOR EACH ROW EXECUTE FUNCTION usage_of_worker();--> statement-breakpoint
-- A running pod that gets another image or disk goes on in a span of its own, which says so.
CREATE OR REPLACE FUNCTION usage_of_pod() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.desired = NEW.desired
    AND (OLD.image_name, OLD.container_disk_gb, OLD.volume_gb) IS NOT DISTINCT FROM (NEW.image_name, NEW.container_disk_gb, NEW.volume_gb) THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM usage_span_close('POD', OLD.id);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.desired = 'RUNNING' THEN
    INSERT INTO usage_span (account_id, kind, subject_id, template_id, image_name, locations, gpu_type_id, gpu_count, disk_gb, usd_per_hour)
    SELECT NEW.account_id, 'POD', NEW.id, NEW.template_id, NEW.image_name, m.locations, NEW.gpu_type_id, cardinality(NEW.gpu_uuids),
      NEW.container_disk_gb + NEW.volume_gb, coalesce(p.usd_per_hour, 0) * greatest(cardinality(NEW.gpu_uuids), 1)
    FROM machine m LEFT JOIN price p ON p.item = CASE NEW.gpu_type_id WHEN '' THEN 'CPU' ELSE NEW.gpu_type_id END
    WHERE m.id = NEW.machine_id;
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
DROP TRIGGER usage_of_pod ON pod;--> statement-breakpoint
CREATE TRIGGER usage_of_pod AFTER INSERT OR DELETE OR UPDATE OF desired, image_name, container_disk_gb, volume_gb ON pod FOR EACH ROW EXECUTE FUNCTION usage_of_pod();--> statement-breakpoint
-- Places of workers that had crashed when this migration ran.
UPDATE usage_span s SET ended_at = now() FROM worker w
WHERE s.kind = 'WORKER' AND s.ended_at IS NULL AND s.subject_id = w.id AND w.state = 'UNHEALTHY';
