-- Rollback: yes.
-- Large values are stored without compression: pglz takes 16 ms for 1 MB of JSON, and seldom makes images or hashes smaller.
-- Rows of up to 4,080 bytes stay in their table, two to a page, in place of pieces in the TOAST table.
ALTER TABLE "job_input" ALTER COLUMN "input" SET STORAGE EXTERNAL, SET (toast_tuple_target = 4080);--> statement-breakpoint
ALTER TABLE "job_output" ALTER COLUMN "output" SET STORAGE EXTERNAL, SET (toast_tuple_target = 4080);--> statement-breakpoint
ALTER TABLE "job_chunk" ALTER COLUMN "output" SET STORAGE EXTERNAL, SET (toast_tuple_target = 4080);--> statement-breakpoint
ALTER TABLE "webhook_delivery" ALTER COLUMN "body" SET STORAGE EXTERNAL, SET (toast_tuple_target = 4080);
