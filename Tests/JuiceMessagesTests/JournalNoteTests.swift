import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct JournalNoteTests {
    private func note(_ value: String) -> JournalNote? { [UInt8](value).withUnsafeBytes { JournalNote($0) } }

    private func isNote(_ value: String) -> Bool { [UInt8](value).withUnsafeBytes { JournalNote.isNote($0) } }

    @Test(arguments: GoldenNotes.all.indices)
    func aNoteIsWrittenAndRead(index: Int) {
        let (note, value) = GoldenNotes.all[index]
        #expect(written { note.write(into: &$0) } == value)
        #expect(self.note(value) == note)
        #expect(isNote(value))
        // No client takes it for its answer.
        #expect(throws: MalformedMessage.self) { try [UInt8](value).withUnsafeBytes { _ = try AnswerDecoder().decode($0) } }
    }

    @Test func randomNotesAreReadBack() {
        var generator = SeededGenerator(seed: 20_261_201)
        for _ in 0..<2_000 {
            let note = RandomSamples.note(&generator)
            let value = written { note.write(into: &$0) }
            #expect(self.note(value) == note, "\(value)")
            #expect(isNote(value))
        }
    }

    /// Neither the order of members nor those of a newer service matter.
    @Test func otherMembersAreIgnored() {
        #expect(
            note(#" {"x":{"orderId":"o"},"to":5,"offset":42,"topic":"orders","type":"forwarded"} "#)
                == .forwarded(InputPlace(topic: .orders, partition: nil, offset: 42), to: 5)
        )
    }

    @Test(
        arguments: [
            "", "7", "[]", "{}", #"{"type":7}"#, #"{"type":"holiday"}"#,
            // Answers.
            GoldenAnswers.juiceMade[.english],
            #"{"type":"copy","topic":"orders","offset":45,"orderId":"o"}"#,
            #"{"type":"copy","topic":"orders","offset":45,"restockId":null}"#,
            // Places.
            #"{"type":"copy","offset":45}"#, #"{"type":"copy","topic":"juice.orders","offset":45}"#,
            #"{"type":"copy","topic":"orders"}"#, #"{"type":"copy","topic":"orders","offset":-1}"#,
            #"{"type":"copy","topic":"orders","offset":1,"offset":1}"#,
            #"{"type":"copy","topic":"orders","offset":1,"partition":2147483648}"#,
            // Members that are missing, or of another type.
            #"{"type":"forwarded","topic":"orders","offset":1}"#,
            #"{"type":"forwarded","topic":"orders","offset":1,"to":-1}"#,
            #"{"type":"deadLetter","topic":"orders","offset":1}"#,
            #"{"type":"anchored","topic":"orders","offset":1}"#,
            #"{"type":"anchored","topic":"orders","offset":1,"by":"b","reason":1}"#,
            #"{"type":"position","stock":0,"claim":0}"#, #"{"type":"position","stock":0,"ids":[]}"#,
            #"{"type":"position","claim":0,"ids":[]}"#, #"{"type":"position","stock":0,"claim":0,"ids":[1]}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"orders":null}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"added":{"orders":1}}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"added":{"stock/1":1}}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"forwarded":{"orders/01":1}}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"forwarded":{"orders/1":-1}}"#,
            #"{"type":"position","stock":0,"claim":0,"ids":[],"forwarded":{"orders/1":1,"orders/1":1}}"#,
            #"{"type":"claim","ids":[],"since":0,"group":"g","instance":"i"}"#,
            #"{"type":"claim","ids":[],"since":0,"group":"g","partitions":8}"#,
            #"{"type":"claim","ids":[],"since":0,"instance":"i","partitions":8}"#,
            #"{"type":"claim","ids":[],"group":"g","instance":"i","partitions":8}"#,
            #"{"type":"claim","since":0,"group":"g","instance":"i","partitions":8}"#,
            #"{"type":"claim","ids":[],"since":0,"group":"g","instance":"i","partitions":0}"#,
        ]
    )
    func whatIsNoKnownNoteIsNone(value: String) {
        #expect(note(value) == nil)
        #expect(
            isNote(value)
                == (value.hasPrefix("{") && !value.contains("orderId") && !value.contains("restockId"))
        )
    }

    @Test(
        arguments: [
            ("3/42", ForwardSource(partition: 3, offset: 42)),
            ("0/0", ForwardSource(partition: 0, offset: 0)),
            ("2147483647/9223372036854775807", ForwardSource(partition: .max, offset: .max)),
            ("", nil), ("/", nil), ("3", nil), ("3/", nil), ("/42", nil), ("03/42", nil), ("3/042", nil),
            ("+3/42", nil), ("-3/42", nil), ("3/-42", nil), ("3/42/1", nil), (" 3/42", nil), ("3/42 ", nil),
            ("3/4２", nil), ("2147483648/0", nil), ("0/9223372036854775808", nil), ("3/42\u{0}", nil),
        ] as [(String, ForwardSource?)]
    )
    func theSourceOfAForwardedCommandHasOneForm(text: String, source: ForwardSource?) {
        #expect(ForwardSource([UInt8](text)) == source)
        if let source { #expect(source.text == text) }
    }
}
