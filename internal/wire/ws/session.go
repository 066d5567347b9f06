package ws

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"hapax/internal/auth"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// hello opens the session or renews it. A first hello that fails ends the connection; a failed renewal leaves the session as it is.
func (c *conn) hello(cmd *protocol.Command) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.server.Limits.Hello)
	session, err := c.server.Auth.Verify(ctx, cmd.Token)
	cancel()
	if err != nil {
		return c.helloFailed(cmd, err)
	}
	if c.session != nil && session.Actor != c.actor {
		e := wire.Error(protocol.ActorMismatch, "the connection belongs to another actor", 0)
		e.Ref = cmd.Ref
		c.stop(string(protocol.ActorMismatch), false, &e, closeCode(protocol.ActorMismatch), "actor mismatch")
		return errEnding
	}
	if c.session == nil && !c.signIn(session.Actor) {
		e := wire.Error(protocol.RateLimited, "this actor has as many connections as it may", c.server.spread())
		e.Ref = cmd.Ref
		c.stop(limit.ReasonActor, false, &e, statusTryAgainLater, "too many connections")
		return errEnding
	}
	c.session, c.actor = session, session.Actor
	c.armExpiry()
	c.welcome(cmd)
	for name, live := range c.rooms {
		if live && !session.CanRead(name) || !live && !session.CanWrite(name) {
			c.drop(name)
			c.tell(&protocol.Event{Type: protocol.TypeUnsubscribed, Room: name, Reason: string(protocol.Forbidden)})
		}
	}
	return nil
}

// signIn lets the connection count for its actor, and tells whether the actor may have one more.
func (c *conn) signIn(actor string) bool {
	if !c.place.SignedIn(actor, false) {
		return false
	}
	s := c.server
	s.mu.Lock()
	if c.fresh != nil {
		s.fresh.Remove(c.fresh)
		c.fresh = nil
	}
	s.mu.Unlock()
	c.outbound.signIn(s.Admission.Outbound.Open(limit.ByActor(actor)), s.Limits.Outbound)
	c.reader.limit = s.Protocol.Frame
	return true
}

func (c *conn) helloFailed(cmd *protocol.Command, err error) error {
	// The cause is for the log; err itself says to the client no more than what it can mend.
	c.server.refused.Tell("token", "a token was refused", c.client, "route", "/v1/ws", "client", cmd.Client, "error", err, "cause", errors.Unwrap(err))
	code := auth.CodeOf(err)
	e := wire.Error(code, err.Error(), 0)
	e.Ref = cmd.Ref
	if c.session != nil {
		c.tell(&e)
		return nil
	}
	closing := closeCode(code)
	if closing == 0 {
		closing = statusTryAgainLater
	}
	c.stop(string(code), false, &e, closing, "no session")
	return errEnding
}

func (c *conn) welcome(cmd *protocol.Command) {
	id := c.server.Rooms.Identity()
	c.tell(&protocol.Event{
		Type: protocol.TypeWelcome, Ref: cmd.Ref, Session: rand.Text(), Actor: c.actor, Server: id.Server, Epoch: id.Epoch,
		ServerTime: c.server.now(), Limits: &c.server.Protocol, Features: c.server.Features,
		Retention: c.server.RetentionMs,
	})
}

// armExpiry ends the connection expiredGrace after its token's end, unless that is renewed.
func (c *conn) armExpiry() {
	left := time.Until(c.session.Expires) + expiredGrace
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(left, func() {
		e := wire.Error(protocol.SessionInvalid, "the token has expired", 0)
		c.stop("expired", false, &e, closeCode(protocol.SessionInvalid), "session expired")
	})
}
