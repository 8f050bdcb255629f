import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// A command as it is sent.
struct OutgoingCommand: Equatable {
    let kind: CommandKind
    let id: String
    let store: String
    let value: [UInt8]

    static func order(id: String, store: String, juice: String, quantity: Int) -> OutgoingCommand {
        var buffer = OutputBuffer()
        CommandEncoder.order(id: id, juice: juice, quantity: quantity, into: &buffer)
        return OutgoingCommand(kind: .order, id: id, store: store, value: buffer.bytes)
    }

    static func restock(id: String, store: String, _ amounts: RestockAmounts) -> OutgoingCommand {
        var buffer = OutputBuffer()
        CommandEncoder.restock(id: id, amounts.kind, amounts.amounts, into: &buffer)
        return OutgoingCommand(kind: .restock, id: id, store: store, value: buffer.bytes)
    }

    /// The topic that takes commands of this kind.
    func topic(in topics: TopicNames) -> String {
        switch kind {
        case .order: topics.orders
        case .restock: topics.restocks
        }
    }
}

/// Sends commands and confirms that they are written.
struct CommandSender {
    private let connection: Connection
    private let producer: Producer

    init(_ connection: Connection, timeout: Duration) throws(Failure) {
        self.connection = connection
        producer = try connection.producer(timeout: timeout)
        try connection.reach(producer, deadline: Deadline(after: timeout))
    }

    /// Sends one command.
    ///
    /// - Returns: where it was written.
    /// - Throws: ``Failure``; when nobody confirms it in time, it may be written all the same.
    func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        try connection.ask { () throws(KafkaError) in
            try producer.send(
                topic: command.topic(in: connection.topics),
                key: Array(command.store.utf8),
                value: command.value,
                timeout: deadline.remaining
            )
        }
    }
}
