/// The position of a record of orders or restocks.
struct Place: Hashable {
    let topic: AuditTopic
    let partition: Int
    let offset: Int64

    var description: String { "\(topic.rawValue) \(partition)@\(offset)" }
}

extension Place: Comparable {
    static func < (first: Place, second: Place) -> Bool {
        (first.topic.rawValue, first.partition, first.offset)
            < (second.topic.rawValue, second.partition, second.offset)
    }
}

/// Decides for every record of one partition of orders and restocks what the service has to do with it.
struct Intake {
    var names: Names
    var deadLetters: DeadLetterAudit
    /// Records that clients wrote, and copies of them that the service made.
    private(set) var recordCount = 0
    private(set) var commandCount = 0

    private let partition: Int
    private let forwards: ForwardAudit
    private var reader: CommandReader

    init(partition: Int, _ rules: AuditRules, _ deadLetters: DeadLetterAudit, _ forwards: ForwardAudit) {
        names = Names(partitionCount: rules.partitionCount)
        reader = CommandReader(rules.menu)
        (self.partition, self.deadLetters, self.forwards) = (partition, deadLetters, forwards)
    }

    /// Reads on to the next command that must be answered here; nil at the end of the topic.
    mutating func read(_ cursor: inout RecordCursor, _ topic: AuditTopic) throws -> Command? {
        var timestamps: ClosedRange<Int64>?
        while let record = try cursor.next() {
            let (first, last) = (timestamps?.lowerBound ?? .max, timestamps?.upperBound ?? .min)
            let range = min(first, record.timestamp)...max(last, record.timestamp)
            timestamps = range
            if let command = try command(of: record, topic, range, cursor.bounds) { return command }
        }
        return nil
    }

    /// The command of a record; nil if the record is none that is answered here.
    private mutating func command(
        of record: AuditRecord,
        _ topic: AuditTopic,
        _ timestamps: ClosedRange<Int64>,
        _ bounds: AuditBounds
    ) throws -> Command? {
        recordCount += 1
        let place = Place(topic: topic, partition: partition, offset: record.offset)
        let isCopy = !record.headers.isEmpty && record.headers.contains { $0.name == Contract.forwardedFrom }
        if isCopy { forwards.addCopy(record, at: place) }
        guard let store = names.store(key: record.key) else {
            try deadLetters.expect(record, at: place, [.badStore], bounds)
            return nil
        }
        let owner = names.owners[store]
        switch read(record.value, topic, store) {
        case .undecodable(let codes):
            try deadLetters.expect(record, at: place, codes, bounds)
        case .command(let kind, let identity, let remembered, let task) where owner == partition:
            if try deadLetters.isNext(place) {
                try deadLetters.expect(record, at: place, [.unanswerable], bounds)
                return nil
            }
            commandCount += 1
            return Command(
                record: record,
                kind: kind,
                store: store,
                identity: identity,
                remembered: remembered,
                task: task,
                timestamps: timestamps
            )
        case .command where isCopy:
            let code: DeadLetterCode = try deadLetters.isNext(place) ? .unanswerable : .misplaced
            try deadLetters.expect(record, at: place, [code], bounds)
        case .command:
            if try deadLetters.isNext(place) {
                try deadLetters.expect(record, at: place, [.unanswerable], bounds)
            } else {
                forwards.addOriginal(record, at: place, owner: owner, bounds)
            }
        }
        return nil
    }

    private enum Reading {
        case undecodable([DeadLetterCode])
        case command(CommandKind, Hash128, remembered: Hash128, Command.Task)
    }

    private mutating func read(_ value: [UInt8]?, _ topic: AuditTopic, _ store: Int) -> Reading {
        guard let value else { return .undecodable([.emptyValue]) }
        return value.withUnsafeBufferPointer { value in
            switch reader.read(value, topic) {
            case .undecodable(let codes): return .undecodable(codes)
            case .command(let id, let kind, let task):
                let identity = names.identity(kind, store: store, id: id)
                let order = kind == .cancel ? names.identity(.order, store: store, id: id) : identity
                return .command(kind, identity, remembered: order, task)
            }
        }
    }

    /// The command as faults show it.
    mutating func describe(_ command: Command) -> String {
        (command.record.value ?? []).withUnsafeBufferPointer { value in
            guard case .command(let id, let kind, _) = reader.read(value, command.kind.topic) else {
                return command.kind.topic.rawValue
            }
            return names.describe(kind, id, store: command.store)
        }
    }
}
