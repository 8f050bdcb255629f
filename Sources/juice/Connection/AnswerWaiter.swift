import JuiceClient
import JuiceMaker
import JuiceMessages
import Kafka

/// Waits for the answer to one command.
///
/// Create it before sending the command: it starts at the current ends of the results topic, so that no answer is missed.
struct AnswerWaiter {
    private let reader: TopicReader
    private let decoder = AnswerDecoder()

    init(_ connection: Connection, deadline: Deadline) throws(Failure) {
        reader = try TopicReader(connection, topic: connection.topics.results, deadline: deadline)
        try reader.startAtEnds()
    }

    /// Waits for the answer to the command with this id.
    ///
    /// - Parameters:
    ///   - kind: what the command is. An order and its cancel have one id.
    ///   - id: the command's id.
    ///   - store: its store.
    ///   - deadline: when to give up.
    /// - Returns: the answer and the record's value; nil if there is none before the deadline.
    func answer(to kind: CommandKind, id: String, store: String, deadline: Deadline) throws(Failure) -> (
        answer: Answer, record: [UInt8]
    )? {
        var found: (Answer, [UInt8])?
        while found == nil && !deadline.isOver {
            try reader.poll(timeout: deadline.step()) { record in
                guard found == nil, let value = record.value, let answer = try? decoder.decode(value) else { return }
                guard answer.command == kind, Name(answer.id) == Name(id), Name(answer.store) == Name(store) else { return }
                found = (answer, Array(value))
            }
        }
        return found
    }
}
