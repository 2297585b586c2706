CREATE INDEX "worker_endpoint_living_idx" ON "worker" USING btree ("endpoint_id") WHERE ended_at IS NULL AND endpoint_id <> '';--> statement-breakpoint
CREATE INDEX "worker_machine_living_idx" ON "worker" USING btree ("machine_id") WHERE ended_at IS NULL AND machine_id <> '';--> statement-breakpoint
DROP INDEX "worker_alive_idx";--> statement-breakpoint
DROP INDEX "worker_machine_alive_idx";