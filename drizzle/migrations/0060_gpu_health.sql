-- Rollback: yes.
CREATE TABLE "machine_gpu_event" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "machine_gpu_event_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"machine_id" text NOT NULL,
	"gpu_uuid" text NOT NULL,
	"level" text NOT NULL,
	"text" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "machine_gpu_event_level_known" CHECK ("machine_gpu_event"."level" IN ('OK', 'WARNING', 'FAILED', 'CORDONED'))
);
--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "gpu_marks" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "machine_gpu_event" ADD CONSTRAINT "machine_gpu_event_machine_id_machine_id_fk" FOREIGN KEY ("machine_id") REFERENCES "public"."machine"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "machine_gpu_event_machine_idx" ON "machine_gpu_event" USING btree ("machine_id","gpu_uuid","id");