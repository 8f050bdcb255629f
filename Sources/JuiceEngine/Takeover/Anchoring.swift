import JuiceMessages

/// Moves the position of one input on purpose: takes the partition over as a worker does, and notes in its journal where reading
/// goes on. A worker that runs finds itself fenced, takes the partition over anew, and goes on there.
public struct Anchoring<Log: CommandLog> {
    /// What is known of a partition before anything is changed.
    public struct Survey: Sendable, Equatable {
        /// The next offset of each input, as far as the journal says.
        public let positions: [InputPosition]
        /// Where the logs begin and end.
        public let extents: PartitionExtents
        /// The consumer group of the last owner; nil if there was none.
        public let group: String?
    }

    private let log: Log
    private let partition: Int32
    private var takeover: Takeover

    /// - Parameters:
    ///   - log: of a process that is no member of the group.
    ///   - settings: with the name that the claim is to have.
    ///   - share: of one partition that stores live in.
    public init(log: Log, settings: WorkerSettings, share: InputShare) {
        self.log = log
        partition = share.partitions.first ?? 0
        takeover = Takeover(
            share: share,
            ids: [],
            rules: Takeover.Rules(settings, encoder: AnswerEncoder(menu: settings.menu))
        )
    }

    /// What is known of the partition. Nothing is changed.
    ///
    /// - Throws: ``LogError``; after ``LogError/Remedy/retry`` the same call goes on.
    public mutating func survey() throws(LogError) -> Survey {
        while !takeover.isSurveyed { try step() }
        guard let target = takeover.targets[partition], let extents = target.extents else {
            throw unavailable
        }
        let positions = target.tail.positions.all.map {
            InputPosition(topic: $0.topic, partition: $0.partition, offset: $1)
        }
        return Survey(positions: positions, extents: extents, group: target.tail.lastClaim?.owner.group)
    }

    /// Takes the partition over and writes the note, after ``survey()``.
    ///
    /// - Throws: ``LogError``; after ``LogError/Remedy/retry`` the same call goes on, after another error nothing may be repeated
    ///   without a look at the journal.
    public mutating func write(_ place: InputPlace, by author: String, reason: String?) throws(LogError) {
        while !takeover.isOwner { try step() }
        try log.begin()
        var output = Output(log)
        try output.journal(partition, .anchored(place, by: author, reason: reason))
        while true {
            do throws(LogError) {
                return try log.commit()
            } catch {
                guard error.remedy == .retry else { throw error }
            }
        }
    }

    private mutating func step() throws(LogError) {
        if let waiting = try takeover.perform(on: log).first { throw LogError(.stop, waiting.fault.reason) }
        if let refusal = takeover.refusals.first { throw LogError(.stop, refusal.fault.reason) }
        if case .finish = takeover.action { throw unavailable }
    }

    private var unavailable: LogError { LogError(.stop, "partition \(partition) cannot be taken over") }
}

extension Takeover {
    /// Whether all that there is to know before the claim is known.
    fileprivate var isSurveyed: Bool {
        switch stage {
        case .extents, .tail, .claims: false
        default: true
        }
    }
}
