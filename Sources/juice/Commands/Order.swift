import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages

struct OrderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Order a juice, or several as one basket.",
        discussion: """
            Sends the order and confirms that a broker has stored it; with --wait it also prints the answer. Several juices \
            are one order, a basket: all of them are made, or none.

            A juice may be given by its id, its name in either language or an alias, in any case, with or without spaces; \
            `juice menu` lists them. The order contains the id.

            Exit status: 0 made (or sent), 2 out of stock, 3 rejected, 64 no such juice, 69 no broker or no answer.

            Examples:
              juice order mangoKiwi --wait
              juice order "mango kiwi juice" --wait
              juice order 딸바쥬스:2 --store gangnam --wait
              juice order kiwi:2 strawberryBanana --store gangnam --wait
              juice order kiwi --order-id pos-7-000123 --wait --json
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A juice's id, name or alias, and how many of it: 1 to 100, by default 1. At most 20 of these.",
            valueName: "juice[:count]")) var juices: [String]

    @Option(CommandKind.order.newIDHelp, .newCommandID) var orderId: String?
    @OptionGroup var submission: SubmissionOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        let id = orderId ?? UUID().uuidString.lowercased()
        let juices = try OrderedJuice.items(juices, on: submission.menu.load())
        try submission.submit(.order(id: id, store: submission.store, juices), client)
    }
}

extension OrderedJuice {
    /// The juices on `juice order`'s command line: each `NAME`, or `NAME:COUNT`.
    static func items(_ arguments: [String], on menu: Menu) throws(Failure) -> [OrderedJuice] {
        guard arguments.count <= JuiceOrder.mostItems else {
            throw Failure(
                .usage, "an order has at most \(JuiceOrder.mostItems) juices, not \(arguments.count)",
                hint: "juice:count orders several of one juice")
        }
        return try arguments.map { argument throws(Failure) in
            // A name on the menu may end like a count, so the whole argument is looked up first.
            if let juice = try? menu.juiceID(for: argument) { return OrderedJuice(juice: juice) }
            guard let match = argument.wholeMatch(of: /(.*):([0-9]+)/.dotMatchesNewlines()) else {
                return OrderedJuice(juice: try menu.juiceID(for: argument))
            }
            let (least, most) = (JuiceOrder.quantities.lowerBound, JuiceOrder.quantities.upperBound)
            guard let quantity = Int(match.2), (least...most).contains(quantity) else {
                throw Failure(.usage, "the count in \"\(argument)\" must be a whole number, from \(least) to \(most)")
            }
            return OrderedJuice(juice: try menu.juiceID(for: String(match.1)), quantity: quantity)
        }
    }
}
