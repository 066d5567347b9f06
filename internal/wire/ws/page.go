package ws

import (
	"time"

	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// pageRoom is what the budget must have left for the actor before a page is made: a page's bytes.
const pageRoom = 1 << 20

// page is the leave to make a page, a delta or a snapshot: it costs reading, encoding, and memory until the client has read it.
type page struct {
	account *limit.Account
	leave   func()
	held    int64
}

// page returns leave to answer a command by a page. nil: the command was answered, or, with an error, the connection ends.
func (c *conn) page(cmd *protocol.Command) (*page, error) {
	c.flush()
	a := c.server.Admission
	if wait, ok := a.PageRates.Take(c.actor, 1, time.Now()); !ok {
		e := wire.Error(protocol.RateLimited, "this actor asks for pages faster than it may", max(1, wait.Milliseconds()))
		e.Ref, e.Room = cmd.Ref, cmd.Room
		c.tell(&e)
		return nil, nil
	}
	if err := c.awaitReader(); err != nil {
		return nil, err
	}
	leave, err := a.Pages.Take(c.ctx, c.actor)
	if err != nil {
		return nil, errEnding
	}
	if !c.account.Take(pageRoom) {
		leave()
		return nil, c.refuse(cmd, protocol.Unavailable, "as many bytes wait for this actor's readers, or for all, as may; read them first")
	}
	return &page{account: c.account, leave: leave, held: pageRoom}, nil
}

// made gives the reserved bytes back: the page's own are charged as it is appended.
func (p *page) made() {
	p.account.Give(p.held)
	p.held = 0
}

// end lets others make pages.
func (p *page) end() {
	p.made()
	p.leave()
}
