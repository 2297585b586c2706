-- Rollback: yes.
-- The new bound is wider, so whatever an earlier release writes fits. One statement: no moment is without a bound.
ALTER TABLE "network_volume" DROP CONSTRAINT "network_volume_size_in_range", ADD CONSTRAINT "network_volume_size_in_range" CHECK ("network_volume"."size_gb" BETWEEN 0 AND 4096);
