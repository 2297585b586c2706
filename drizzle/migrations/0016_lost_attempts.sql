CREATE TABLE "lost_attempt" (
	"endpoint_id" text NOT NULL,
	"job_id" text NOT NULL,
	"attempt" integer NOT NULL,
	"worker_id" text NOT NULL,
	"machine_id" text NOT NULL,
	"cause" text NOT NULL,
	"exit_code" integer,
	"worker_reason" text DEFAULT '' NOT NULL,
	"lost_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "lost_attempt_endpoint_id_job_id_attempt_pk" PRIMARY KEY("endpoint_id","job_id","attempt")
);
--> statement-breakpoint
CREATE INDEX "lost_attempt_worker_idx" ON "lost_attempt" USING btree ("worker_id");