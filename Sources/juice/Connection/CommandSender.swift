import JuiceClient
import JuiceMessages
import Kafka

/// Sends commands and waits for the brokers' acknowledgement.
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
    /// - Returns: the partition and offset of the record.
    /// - Throws: ``Failure``; after a timeout the command may have been written all the same.
    func send(_ command: OutgoingCommand, deadline: Deadline) throws(Failure) -> Producer.Delivery {
        try connection.ask { () throws(KafkaError) in
            try producer.send(
                topic: connection.topics[command.kind.topic], key: Array(command.store.utf8), value: command.value,
                timeout: deadline.remaining)
        }
    }
}
