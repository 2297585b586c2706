ALTER TABLE "worker" ADD COLUMN "single_use" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "worker_single_use_idx" ON "worker" USING btree ("endpoint_id") WHERE single_use;