package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

// figure is one measurement.
type figure struct {
	perSecond, p50, p99 float64       // times in ms
	all                 int64         // deliveries answered, those before and after the measurement too
	cpu                 time.Duration // of all processes, generator and PostgreSQL included, for one of them
}

func (f figure) String() string {
	return fmt.Sprintf("%6.0f/s p50 %4.1f ms p99 %5.1f ms, %4d µs of processor each", f.perSecond, f.p50, f.p99, f.cpu.Microseconds())
}

// connection sends deliveries one after the other on one connection. It does as little as it can, so that the server is measured and not it: it writes
// a request in one call, and of an answer reads what it must to know that it is the one expected.
type connection struct {
	b     *bench
	conn  net.Conn
	in    *bufio.Reader
	mac   hash.Hash
	name  string
	fill  string
	sent  int
	body  []byte
	out   []byte
	count int64
	took  *hdrhistogram.Histogram // µs
}

// load presses an address and counts the answers that come within the measurement.
func (b *bench) load(ctx context.Context, address string, run int) (figure, error) {
	from := time.Now().Add(b.warm)
	until := from.Add(b.measure)
	all := make([]*connection, b.connections)
	group, _ := errgroup.WithContext(ctx)
	for i := range all {
		group.Go(func() error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			defer conn.Close()
			c := &connection{
				b: b, conn: conn, in: bufio.NewReaderSize(conn, 4096), mac: hmac.New(sha256.New, []byte(secret)), name: fmt.Sprintf("evt_%d_%d_", run, i),
				fill: strings.Repeat("x", max(0, b.body-120)), took: hdrhistogram.New(1, 60_000_000, 2),
			}
			all[i] = c
			return c.press(ctx, from, until)
		})
	}
	if err := group.Wait(); err != nil {
		return figure{}, err
	}
	took, count, sent := hdrhistogram.New(1, 60_000_000, 2), int64(0), int64(0)
	for _, c := range all {
		took.Merge(c.took)
		count += c.count
		sent += int64(c.sent)
	}
	return figure{
		perSecond: float64(count) / b.measure.Seconds(), all: sent,
		p50: float64(took.ValueAtQuantile(50)) / 1000, p99: float64(took.ValueAtQuantile(99)) / 1000,
	}, nil
}

func (c *connection) press(ctx context.Context, from, until time.Time) error {
	for ctx.Err() == nil {
		repeat := c.sent > 0 && c.b.repeats > 0 && c.sent%c.b.repeats == 0
		began := time.Now()
		if began.After(until) {
			return nil
		}
		if err := c.deliver(repeat); err != nil {
			return fmt.Errorf("delivery %d of %s: %w", c.sent, c.name, err)
		}
		if now := time.Now(); now.After(from) && now.Before(until) {
			c.count++
			if err := c.took.RecordValue(max(1, now.Sub(began).Microseconds())); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// deliver sends one delivery and checks its answer: 202 for a first one, 200 for a repeat.
func (c *connection) deliver(repeat bool) error {
	if !repeat {
		c.body = append(append(c.body[:0], `{"id":"`...), c.name...)
		c.body = strconv.AppendInt(c.body, int64(c.sent), 10)
		c.body = append(c.body, `","type":"payment.succeeded","created":1700000000,"amount":"12.50","currency":"EUR","livemode":true,"note":"`...)
		c.body = append(append(c.body, c.fill...), `"}`...)
	}
	c.sent++
	c.mac.Reset()
	c.mac.Write(c.body)
	c.out = append(c.out[:0], "POST /v1/ingest/"+tenant+"/"+source+" HTTP/1.1\r\nHost: bench\r\nUser-Agent: ingestbench\r\nContent-Type: application/json\r\nX-Hub-Signature-256: sha256="...)
	c.out = hex.AppendEncode(c.out, c.mac.Sum(nil))
	c.out = append(c.out, "\r\nContent-Length: "...)
	c.out = append(strconv.AppendInt(c.out, int64(len(c.body)), 10), "\r\n\r\n"...)
	if _, err := c.conn.Write(append(c.out, c.body...)); err != nil {
		return err
	}
	want := []byte("HTTP/1.1 202 ")
	if repeat {
		want = []byte("HTTP/1.1 200 ")
	}
	return c.answer(want)
}

func (c *connection) answer(want []byte) error {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, want) {
		rest, _ := c.in.Peek(c.in.Buffered())
		return fmt.Errorf("%s%s", status, rest)
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("an answer without length")
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return err
}
