-- A worker has its GPUs until it has ended or crashed, however long that takes: what waits for its next try holds nothing that others wait for.
DROP TRIGGER gpu_hold_of_worker_ended ON worker;--> statement-breakpoint
CREATE TRIGGER gpu_hold_of_worker_ended AFTER UPDATE OF ended_at, desired, state ON worker FOR EACH ROW WHEN (OLD.gpu_uuids <> '{}'
  AND ((OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) OR (OLD.desired = 'FREEZE' AND NEW.desired = 'DRAIN')
    OR (OLD.state <> 'UNHEALTHY' AND NEW.state = 'UNHEALTHY')))
  EXECUTE FUNCTION gpu_hold_of_worker();--> statement-breakpoint
DELETE FROM gpu_hold h USING worker w WHERE w.id = h.worker_id AND w.state = 'UNHEALTHY';
