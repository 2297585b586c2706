-- Rollback: yes.
CREATE TABLE "core_replica" (
	"address" text PRIMARY KEY NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL
);
