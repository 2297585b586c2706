ALTER TABLE "template" ADD COLUMN "start_ssh" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "template" ADD COLUMN "start_jupyter" boolean DEFAULT false NOT NULL;