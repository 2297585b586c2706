ALTER TABLE "account" ADD COLUMN "worker_quota" integer;--> statement-breakpoint
ALTER TABLE "account" ADD COLUMN "gpu_quota" integer;--> statement-breakpoint
ALTER TABLE "account" ADD COLUMN "queued_job_quota" integer;--> statement-breakpoint
ALTER TABLE "account" ADD COLUMN "request_quota" integer;--> statement-breakpoint
ALTER TABLE "scale_decision" ADD COLUMN "refusal" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "scale_decision" ADD COLUMN "refusal_by_machine" text DEFAULT '' NOT NULL;