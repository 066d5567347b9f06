package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a server of its own in a temporary folder, reached by a Unix socket in it.
type postgres struct {
	cmd *exec.Cmd
	url string
}

// startPostgres makes a cluster and starts it. Its settings are PostgreSQL's own, but for those that have nothing to do with commits.
func startPostgres(ctx context.Context, work string) (*postgres, error) {
	programs, err := findPostgres()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "pg")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	as, err := unprivileged(work, dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata", data, "--auth", "trust", "--username", "bench", "--encoding", "UTF8", "--locale", "C")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	p := &postgres{url: fmt.Sprintf("host=%s user=bench dbname=postgres sslmode=disable", dir)}
	p.cmd = exec.Command(filepath.Join(programs, "postgres"), "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+dir,
		"-c", "synchronous_commit=on", "-c", "max_connections=300", "-c", "shared_buffers=256MB")
	p.cmd.SysProcAttr, p.cmd.Dir = as, dir
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// findPostgres returns the folder of the newest version that is installed.
func findPostgres() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL isn't here: install Debian's package postgresql, or say -naive=false")
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func version(program string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(program))))
	if err != nil {
		return 0
	}
	return n
}

// unprivileged hands the folder to the user of Debian's package where this program is root's: PostgreSQL refuses to run as root.
func unprivileged(work, dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(work, 0o755), os.Chown(dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// await returns once the server answers.
func (p *postgres) await(ctx context.Context) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(ctx, p.url); err == nil {
			return conn.Close(ctx)
		}
	}
	return errors.Join(fmt.Errorf("PostgreSQL doesn't come up: %w", err), ctx.Err())
}

// stop ends the server. SIGINT is its fast shutdown: sessions are ended.
func (p *postgres) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return p.cmd.Wait()
}
