ALTER TABLE "account" ADD COLUMN "gpu_weight" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "cordoned" boolean DEFAULT false NOT NULL;