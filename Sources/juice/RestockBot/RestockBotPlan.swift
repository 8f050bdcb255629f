import JuiceClient
import JuiceHTTP
import JuiceMaker
import JuiceMessages
import JuiceRestockBot

/// The configuration of a restock bot, read from the settings.
struct RestockBotPlan: Sendable {
    let rules: RefillRules
    /// The consumer group of the bots that share the stores.
    var group = "juice-restock-bot"
    /// Whether refills are printed as JSON. JSON logs imply it, because both are collected together.
    var printsJSON = false
    /// The time limit for exiting once nothing is short and every refill is answered; nil runs forever.
    var onceWithin: Duration?
    /// The address for health and metrics; nil does not serve them.
    var adminAddress: HTTPAddress?
}

extension RestockBotPlan {
    init(_ settings: Settings) throws(Failure) {
        self.init(rules: try Self.rules(settings))
        group = try settings.text(.botGroup, ofAtMost: RefillIDs.maximumGroupLength) ?? group
        guard group != settings.group() else {
            throw Failure(.configuration, "--bot-group \(group.printable) is the service's; bots need another")
        }
        let logsJSON = try settings.logFormat() == .json
        printsJSON = try settings.boolean(.json) || logsJSON
        onceWithin = try settings.boolean(.once) ? settings.timeout() : nil
        adminAddress = try settings.address(.adminHTTP)
    }

    private static func rules(_ settings: Settings) throws(Failure) -> RefillRules {
        let levels = 0...FruitStore.maximumLevel
        let low = try settings.integer(.low, in: levels) ?? 5
        let target = try settings.integer(.target, in: levels) ?? 30
        let stores = try settings.storeNames()
        var fruits = try settings.value(.fruits, "fruits, separated by commas") { text -> [String]? in
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            return names.contains("") ? nil : names
        }
        if let given = fruits {
            let menu = MenuNames(menu: try settings.menu())
            fruits = try given.map { name throws(Failure) in try menu.fruit(name) }
        }
        guard let rules = RefillRules(low: low, target: target, stores: stores, fruits: fruits) else {
            let hint = "a fruit with LOW or fewer left is refilled up to TARGET"
            throw Failure(.usage, "--low \(low) must be below --target \(target)", hint: hint)
        }
        return rules
    }
}
