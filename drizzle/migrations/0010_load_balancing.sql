CREATE TABLE "endpoint_demand" (
	"endpoint_id" text NOT NULL,
	"reporter" text NOT NULL,
	"waiting" integer NOT NULL,
	"worker_ids" text[] NOT NULL,
	"in_flight" integer[] NOT NULL,
	"reported_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "endpoint_demand_endpoint_id_reporter_pk" PRIMARY KEY("endpoint_id","reporter")
);
--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "address" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "health" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoint_demand" ADD CONSTRAINT "endpoint_demand_endpoint_id_endpoint_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."endpoint"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "worker" ADD CONSTRAINT "worker_health_known" CHECK ("worker"."health" IN ('', 'INITIALIZING', 'READY', 'UNHEALTHY'));
--> statement-breakpoint
-- Nothing served load-balancing endpoints before; what they have of these settings they got by default, which differs for them now.
UPDATE "endpoint" SET "scaler_type" = 'REQUEST_COUNT', "worker_concurrency" = greatest("worker_concurrency", 100) WHERE "type" = 'LB';
