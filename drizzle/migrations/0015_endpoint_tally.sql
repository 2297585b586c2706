CREATE TABLE "endpoint_tally" (
	"endpoint_id" text NOT NULL,
	"slot" integer NOT NULL,
	"completed" bigint DEFAULT 0 NOT NULL,
	"failed" bigint DEFAULT 0 NOT NULL,
	"retried" bigint DEFAULT 0 NOT NULL,
	"queued" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "endpoint_tally_endpoint_id_slot_pk" PRIMARY KEY("endpoint_id","slot")
);
--> statement-breakpoint
-- What waits now. Replicas of the release before keep no tally; the duty that counts queues again mends what they change meanwhile.
INSERT INTO "endpoint_tally" ("endpoint_id", "slot", "queued")
SELECT "endpoint_id", 0, count(*) FROM "job" WHERE "state" = 'IN_QUEUE' GROUP BY "endpoint_id";
