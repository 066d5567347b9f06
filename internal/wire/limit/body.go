package limit

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A body must come in at 1 KiB a second at least, counted over steps of stepTime: a sender that stalls holds memory and a connection.
const (
	stepTime  = 5 * time.Second
	stepBytes = 5 << 10
)

// Errors of a body besides *http.MaxBytesError, which says that it is larger than it may be.
var (
	ErrBodyCut    = errors.New("the body did not arrive whole")
	ErrBodySlow   = errors.New("the body comes in at less than 1 KiB a second")
	ErrBodyMemory = errors.New("as many bytes of bodies are in memory as may be; come back later")
)

// firstStep is what is allocated before anything has arrived.
const firstStep = 512

// ReadBody reads a request's body of at most most bytes. Memory grows with what arrives, not with what is announced, and is charged to
// account as it grows; release gives it back and must be called, also after an error. until is when the request as a whole ends, if it isn't
// zero: no step may last longer.
func ReadBody(w http.ResponseWriter, r *http.Request, most int64, account *Account, until time.Time) (body []byte, release func(), err error) {
	var charged int64
	release = func() { account.Give(charged); charged = 0 }
	if r.ContentLength > most {
		return nil, release, &http.MaxBytesError{Limit: most}
	}
	pace := pace{control: http.NewResponseController(w), until: until}
	from := http.MaxBytesReader(w, r.Body, most)
	for {
		if len(body) == cap(body) {
			grown := int64(max(firstStep, 2*cap(body)))
			if r.ContentLength >= 0 && grown > r.ContentLength {
				grown = r.ContentLength + 1 // room to see the end
			}
			if !account.Take(grown - int64(cap(body))) {
				return nil, release, ErrBodyMemory
			}
			charged += grown - int64(cap(body))
			body = append(make([]byte, 0, grown), body...)
		}
		pace.arm()
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		pace.got(n)
		over := new(http.MaxBytesError)
		switch {
		case err == nil:
		case err == io.EOF:
			pace.end()
			return body, release, nil
		case errors.As(err, &over):
			return nil, release, over
		case isTimeout(err):
			return nil, release, ErrBodySlow
		default:
			return nil, release, ErrBodyCut
		}
	}
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// pace sets the deadlines by which a body's steps must have come in.
type pace struct {
	control *http.ResponseController
	until   time.Time
	begun   time.Time
	bytes   int
	armed   bool
}

// arm sets the deadline of the step that is under way, once a step. A connection that knows no deadlines, as in a test, has none.
func (p *pace) arm() {
	if p.armed {
		return
	}
	p.begun, p.armed = time.Now(), true
	deadline := p.begun.Add(stepTime)
	if !p.until.IsZero() && p.until.Before(deadline) {
		deadline = p.until
	}
	_ = p.control.SetReadDeadline(deadline)
}

func (p *pace) got(n int) {
	if p.bytes += n; p.bytes >= stepBytes {
		p.bytes, p.armed = 0, false
	}
}

// end gives the connection the time of the whole request again, in which it notices that its client has gone.
func (p *pace) end() { _ = p.control.SetReadDeadline(p.until) }
