package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// naive is what people write without a gateway: a table with a unique key, and one transaction a delivery.
type naive struct {
	intake.Books // what the handler doesn't ask for here
	pool         *pgxpool.Pool
}

const (
	schema = `CREATE TABLE events (
		tenant text, source text, key text, id text NOT NULL, amount text NOT NULL, currency text NOT NULL, fingerprint bytea NOT NULL, seen_at bigint NOT NULL,
		content_type text NOT NULL, body bytea NOT NULL, PRIMARY KEY (tenant, source, key))`
	insert = `INSERT INTO events VALUES ($1, $2, $3, $4, $5, $6, $7, extract(epoch from now())::bigint, $8, $9) ON CONFLICT DO NOTHING`
	first  = `SELECT id FROM events WHERE tenant = $1 AND source = $2 AND key = $3`
)

func (b *bench) startNaive(ctx context.Context) (*naive, func() error, error) {
	pg, err := startPostgres(ctx, b.work)
	if err != nil {
		return nil, nil, err
	}
	b.pg = pg
	c, err := pgxpool.ParseConfig(pg.url)
	if err != nil {
		return nil, nil, errors.Join(err, pg.stop())
	}
	c.MaxConns = int32(b.connections)
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, nil, errors.Join(err, pg.stop())
	}
	n := &naive{pool: pool}
	end := func() error { pool.Close(); return pg.stop() }
	if _, err := pool.Exec(ctx, schema); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	var synced, fsync string
	if err := pool.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('fsync')`).Scan(&synced, &fsync); err != nil || synced != "on" || fsync != "on" {
		return nil, nil, errors.Join(fmt.Errorf("PostgreSQL doesn't sync: %s, %s: %w", synced, fsync, err), end())
	}
	return n, end, nil
}

// Enter stores one event, by itself, and says whether it was there. Settings have no place here.
func (n *naive) Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	outcomes := make([]gateway.Outcome, len(commands))
	for i, c := range commands {
		outcomes[i] = gateway.Outcome{Kind: gateway.Done}
		e, ok := c.(*gateway.Event)
		if !ok {
			continue
		}
		tag, err := n.pool.Exec(ctx, insert, e.Tenant, e.Source, e.Key, e.ID, e.Amount, e.Currency, e.Fingerprint[:], e.Body.ContentType, e.Body.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", intake.ErrUnavailable, err)
		}
		outcomes[i].Decision, outcomes[i].ID = gateway.Accept, e.ID
		if tag.RowsAffected() == 1 {
			continue
		}
		outcomes[i].Decision = gateway.DuplicateDone
		if err := n.pool.QueryRow(ctx, first, e.Tenant, e.Source, e.Key).Scan(&outcomes[i].RootID); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("%w: %w", intake.ErrUnavailable, err)
		}
	}
	return outcomes, nil
}
