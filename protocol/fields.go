package protocol

import "math/bits"

// field is a member that some frame of version 1 has. A name means the same kind of value wherever it stands.
type field uint8

const (
	fUnknown field = iota
	fType
	fRef
	fToken
	fClient
	fRoom
	fCursor
	fLimit
	fClientMessageID
	fText
	fData
	fSentAt
	fFollows
	fBefore
	fSession
	fActor
	fServer
	fServerTime
	fLimits
	fDedupe
	fEpoch
	fMessageID
	fSeq
	fAt
	fDuplicate
	fHead
	fHeadID
	fMessages
	fMore
	fReason
	fCode
	fMessage
	fRetryable
	fRetryAfter
	fDetail
	fLive
	fMaxBytes
	fFeatures
	fieldCount
)

// kind is what a member's value must be.
type kind string

const (
	kindString  kind = "a string"
	kindInteger kind = "an integer"
	kindBool    kind = "true or false"
	kindObject  kind = "an object"
	kindArray   kind = "an array"
	kindAny     kind = "any value"
)

var fieldTable = [fieldCount]struct {
	name string
	kind kind
}{
	fType: {"type", kindString}, fRef: {"ref", kindString}, fToken: {"token", kindString},
	fClient: {"client", kindString}, fRoom: {"room", kindString}, fCursor: {"cursor", kindObject},
	fLimit: {"limit", kindInteger}, fClientMessageID: {"clientMessageId", kindString}, fText: {"text", kindString},
	fData: {"data", kindAny}, fSentAt: {"sentAt", kindInteger}, fFollows: {"follows", kindString},
	fBefore: {"before", kindInteger}, fSession: {"session", kindString}, fActor: {"actor", kindString},
	fServer: {"server", kindString}, fServerTime: {"serverTime", kindInteger}, fLimits: {"limits", kindObject},
	fDedupe: {"dedupe", kindObject}, fEpoch: {"epoch", kindString}, fMessageID: {"messageId", kindString},
	fSeq: {"seq", kindInteger}, fAt: {"at", kindInteger}, fDuplicate: {"duplicate", kindBool},
	fHead: {"head", kindInteger}, fHeadID: {"headId", kindString}, fMessages: {"messages", kindArray},
	fMore: {"more", kindBool}, fReason: {"reason", kindString}, fCode: {"code", kindString},
	fMessage: {"message", kindString}, fRetryable: {"retryable", kindBool}, fRetryAfter: {"retryAfterMs", kindInteger},
	fDetail: {"detail", kindString}, fLive: {"live", kindBool}, fMaxBytes: {"maxBytes", kindInteger},
	fFeatures: {"features", kindArray},
}

// fieldsByLength finds names by their length, which few share, without hashing.
var fieldsByLength = func() (byLength [16][]field) {
	for f := fUnknown + 1; f < fieldCount; f++ {
		n := len(fieldTable[f].name)
		byLength[n] = append(byLength[n], f)
	}
	return byLength
}()

// fieldNamed compares byte for byte: `Text` is not `text`.
func fieldNamed(name string) field {
	if len(name) < len(fieldsByLength) {
		for _, f := range fieldsByLength[len(name)] {
			if fieldTable[f].name == name {
				return f
			}
		}
	}
	return fUnknown
}

// fields is a set of them.
type fields uint64

func (s fields) has(f field) bool { return s&(1<<f) != 0 }

func setOf(list ...field) (s fields) {
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

// first is the member of the set that stands first in the table, so that of several faults the same one is told
// whatever the order of the members.
func (s fields) first() field { return field(bits.TrailingZeros64(uint64(s))) }

// shape says which members a frame of one type has. Others are unknown to it and ignored.
type shape struct {
	required fields
	optional fields
}

func (s shape) all() fields { return s.required | s.optional }

var commandShapes = map[string]shape{
	TypeHello:       {setOf(fType, fToken), setOf(fRef, fClient)},
	TypeSubscribe:   {setOf(fType, fRoom), setOf(fRef, fLive, fCursor, fLimit, fMaxBytes)},
	TypeUnsubscribe: {setOf(fType, fRoom), setOf(fRef)},
	TypeSend:        {setOf(fType, fRoom, fClientMessageID, fText), setOf(fRef, fData, fSentAt, fFollows)},
	TypeStatus:      {setOf(fType, fRoom, fClientMessageID), setOf(fRef, fSentAt)},
	TypeHistory:     {setOf(fType, fRoom, fBefore, fLimit), setOf(fRef, fMaxBytes)},
	TypePing:        {setOf(fType), setOf(fRef)},
}

// bodyShape is that of a POSTed message; the room stands in the path and the id in a header.
var bodyShape = shape{setOf(fText), setOf(fData, fSentAt, fFollows)}

// problemShape is that of a problem document, but for `type`, `title` and `status`, which the code says too.
var problemShape = shape{setOf(fCode, fRetryable), setOf(fDetail, fRetryAfter, fClientMessageID, fRoom, fMessageID)}

var eventShapes = map[string]shape{
	TypeWelcome:      {setOf(fType, fSession, fActor, fServer, fEpoch, fServerTime, fLimits, fDedupe), setOf(fRef, fFeatures)},
	TypeAck:          {setOf(fType, fClientMessageID, fRoom, fMessageID, fSeq, fEpoch, fAt, fDuplicate), setOf(fRef)},
	TypeMessage:      {setOf(fType, fRoom, fEpoch) | rowShape.required, setOf(fRef) | rowShape.optional},
	TypeSnapshot:     {setOf(fType, fRoom, fEpoch, fHead, fHeadID, fMessages), setOf(fRef)},
	TypeDelta:        {setOf(fType, fRoom, fEpoch, fHead, fHeadID, fMessages, fMore), setOf(fRef)},
	TypePage:         {setOf(fType, fRoom, fEpoch, fMessages, fMore), setOf(fRef)},
	TypeSubscribed:   {setOf(fType, fRoom, fLive), setOf(fRef)},
	TypeUnsubscribed: {setOf(fType, fRoom), setOf(fRef, fReason)},
	TypePong:         {setOf(fType, fServerTime), setOf(fRef)},
	TypeError:        {setOf(fType, fCode, fMessage, fRetryable), setOf(fRef, fRetryAfter, fClientMessageID, fRoom, fMessageID)},
}

// rowShape is that of the rows in a snapshot, delta or page. They leave out room and epoch, which the frame names.
var rowShape = shape{setOf(fSeq, fMessageID, fActor, fText, fAt), setOf(fClientMessageID, fData)}
