package protocol

import "fmt"

const faultUTF8 = "the document isn't UTF-8"

// Problem says why a frame, a body or a header was refused. It carries what the answer echoes, as far as that could be read.
type Problem struct {
	Code            Code
	Message         string // for people; names the field
	Ref             string
	Room            string
	ClientMessageID string
}

// Error makes a Problem usable where Go wants an error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

// Event is the error frame that answers the refused command.
func (p *Problem) Event() Event {
	e := ErrorEvent(p.Code, p.Message)
	e.Ref, e.Room, e.ClientMessageID = p.Ref, p.Room, p.ClientMessageID
	return e
}

// ErrorEvent is an error frame of a code, with the code's own retryable.
func ErrorEvent(code Code, message string) Event {
	return Event{Type: TypeError, Code: code, Text: message, Retryable: code.Rule().Retryable}
}

func refuse(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (p *scanner) problem() *Problem {
	return refuse(BadRequest, "byte %d: %s", p.at, p.fault)
}
